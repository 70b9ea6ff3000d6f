// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_RELABELLING_IPP
#define RESHARD_PLAN_IMPL_RELABELLING_IPP

#include <reshard/plan/relabelling.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/plan/assignment.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

namespace reshard {

namespace detail {

/// Processes or ranks that hold the same boxes, which can be exchanged for one another.
struct alike_holders {
    std::vector<std::uint32_t> class_of;        ///< by holder
    std::vector<std::vector<holder_t>> members; ///< by class, ascending
    std::vector<holder_t> counts() const {
        std::vector<holder_t> all;
        for (auto const& one : members)
            all.push_back(static_cast<holder_t>(one.size()));
        return all;
    }
    bool represents(holder_t holder) const { return members[class_of[holder]].front() == holder; }
};

/// By all that they hold, and by node, where they stay on it. A collision of digests, which
/// is most unlikely, costs bytes, and makes the sums wrong.
inline alike_holders holders_alike(shard_kinds const& kinds, holder_t count,
                                   holder_t processes_per_node) {
    std::vector<hasher> digests(count);
    auto const& spreads = kinds.spreads();
    for (std::size_t spread = 0; spread < spreads.size(); ++spread)
        for (std::size_t i = 0; spreads[spread] && i < spreads[spread].size(); ++i) {
            hasher& digest = digests[spreads[spread].holder(i)];
            digest.add(std::uint64_t{spread});
            spreads[spread].for_each_box(i, [&](box const& one) {
                digest.add(std::span<index_t const>(one.offset.begin(), one.offset.end()));
                digest.add(std::span<index_t const>(one.shape.begin(), one.shape.end()));
            });
        }
    alike_holders all;
    std::map<std::pair<holder_t, std::uint64_t>, std::uint32_t> numbers;
    for (holder_t h = 0; h < count; ++h) {
        holder_t const node = processes_per_node == 0 ? 0 : h / processes_per_node;
        auto const found = numbers.try_emplace({node, digests[h].value()},
                                               static_cast<std::uint32_t>(all.members.size()));
        if (found.second)
            all.members.emplace_back();
        all.class_of.push_back(found.first->second);
        all.members[found.first->second].push_back(h);
    }
    return all;
}

/// Of all that is wanted.
inline index_t bytes_of(plan_flows const& flows) {
    index_t sum = 0;
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](flow const& one) {
            sum = checked_add(sum, checked_multiply(one.bytes, flows.count(kind), "all bytes"),
                              "all bytes");
        });
    return sum;
}

/// One gain for each pair, by row.
inline std::vector<gain> summed(std::vector<gain> all) {
    std::ranges::sort(all, {}, &gain::place);
    std::size_t count = 0;
    for (gain const& one : all) {
        if (count > 0 && all[count - 1].place() == one.place())
            all[count - 1].value += one.value;
        else
            all[count++] = one;
    }
    all.resize(count);
    return all;
}

/// What a process of each kind keeps if it plays a rank of each kind.
inline std::vector<gain> gains_of(plan_flows const& flows, alike_holders const& processes,
                                  alike_holders const& ranks, holder_t processes_per_node) {
    std::vector<gain> all;
    auto const node_of = [&](holder_t h) {
        return processes_per_node == 0 ? 0 : h / processes_per_node;
    };
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each_possible(kind, [&](flow const& one) {
            if (one.bytes > 0 && processes.represents(one.source) && ranks.represents(one.target) &&
                node_of(one.source) == node_of(one.target))
                all.push_back({processes.class_of[one.source], ranks.class_of[one.target],
                               checked_multiply(one.bytes, flows.count(kind), "bytes kept")});
        });
    return summed(std::move(all));
}

/// Gives kinds of processes to kinds of ranks, one by one; processes keep their numbers where they
/// can.
class rank_giver {
public:
    rank_giver(alike_holders const& processes, alike_holders const& ranks)
        : processes_(processes),
          ranks_(ranks),
          process_of_(ranks.class_of.size(), no_process),
          is_taken_(processes.class_of.size(), false) {}

    void give(std::vector<assigned> all) {
        for (assigned& one : all)
            for (holder_t const rank : ranks_.members[one.column])
                if (one.count > 0 && rank < is_taken_.size() && is_free(rank, rank) &&
                    processes_.class_of[rank] == one.row)
                    take(rank, rank, one);
        std::vector<std::size_t> next(processes_.members.size(),
                                      0); // by class: those before are taken
        for (assigned& one : all)
            for (holder_t const rank : ranks_.members[one.column])
                if (one.count > 0 && process_of_[rank] == no_process) {
                    auto const& members = processes_.members[one.row];
                    while (is_taken_[members[next[one.row]]])
                        ++next[one.row];
                    take(rank, members[next[one.row]], one);
                }
    }

    /// Ranks that keep nothing: their own processes where these are free, else the first of the
    /// node, or of all.
    std::vector<holder_t> give_rest(holder_t processes_per_node) && {
        auto const count = static_cast<holder_t>(process_of_.size());
        for (holder_t rank = 0; rank < count; ++rank)
            if (is_free(rank, rank))
                set(rank, rank);
        holder_t next = 0; // below it all are taken, where they need not stay on their nodes
        for (holder_t rank = 0; rank < count; ++rank) {
            if (process_of_[rank] != no_process)
                continue;
            holder_t process =
                processes_per_node == 0 ? next : rank / processes_per_node * processes_per_node;
            while (is_taken_[process])
                ++process;
            set(rank, process);
            if (processes_per_node == 0)
                next = process + 1;
        }
        return std::move(process_of_);
    }

private:
    static constexpr holder_t no_process = static_cast<holder_t>(-1);

    bool is_free(holder_t rank, holder_t process) const {
        return process_of_[rank] == no_process && !is_taken_[process];
    }

    void set(holder_t rank, holder_t process) {
        process_of_[rank] = process;
        is_taken_[process] = true;
    }

    void take(holder_t rank, holder_t process, assigned& one) {
        set(rank, process);
        --one.count;
    }

    alike_holders const& processes_;
    alike_holders const& ranks_;
    std::vector<holder_t> process_of_;
    std::vector<bool> is_taken_;
};

} // namespace detail

RESHARD_DECL relabelling best_relabelling(mapping const& program, layout const& source,
                                          layout const& target, holder_t processes_per_node) {
    using namespace detail;
    plan_problem const problem = problem_of(program, source, target);
    plan_flows const flows(problem);
    holder_t const ranks = problem.target_holders;
    holder_t const processes = std::max(problem.source_holders, ranks);
    auto const held = holders_alike(shard_kinds(problem.sources), processes, processes_per_node);
    auto const wanted = holders_alike(shard_kinds(problem.targets), ranks, processes_per_node);
    auto const gains = gains_of(flows, held, wanted, processes_per_node);
    auto const kept = [&](holder_t process, holder_t rank) {
        gain const pair{held.class_of[process], wanted.class_of[rank]};
        auto const found = std::ranges::lower_bound(gains, pair.place(), {}, &gain::place);
        return found == gains.end() || found->place() != pair.place() ? 0 : found->value;
    };
    relabelling result;
    rank_giver giver(held, wanted);
    giver.give(best_assignment(gains, held.counts(), wanted.counts()));
    result.process_of = std::move(giver).give_rest(processes_per_node);
    result.bytes = bytes_of(flows);
    for (holder_t rank = 0; rank < ranks; ++rank) {
        result.bytes_kept += kept(result.process_of[rank], rank);
        result.bytes_kept_before += kept(rank, rank);
    }
    if (result.bytes_kept == result.bytes_kept_before)
        std::iota(result.process_of.begin(), result.process_of.end(), holder_t{0});
    return result;
}

RESHARD_DECL relabelling best_relabelling(layout const& source, layout const& target,
                                          holder_t processes_per_node) {
    return best_relabelling(identity_mapping(catalog_of(target)), source, target,
                            processes_per_node);
}

RESHARD_DECL layout relabelling::of_processes(layout const& ranks) const {
    std::vector<std::vector<shard_descriptor>> by_process;
    for (holder_t rank = 0; rank < process_of.size(); ++rank) {
        by_process.resize(std::max<std::size_t>(by_process.size(), process_of[rank] + 1));
        by_process[process_of[rank]] = shards_of(ranks, rank);
    }
    layout made = layout_of(by_process);
    made.fused = ranks.fused;
    made.has_global_order = ranks.has_global_order;
    return made;
}

} // namespace reshard

#endif
