// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_IMPL_RELABELLING_IPP
#define RESHARD_ANALYSIS_IMPL_RELABELLING_IPP

#include <reshard/analysis/relabelling.hpp>

#include <reshard/analysis/impl/assignment.ipp>
#include <reshard/core/digest.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/plan/cut_list.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/target_kinds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace reshard {

namespace detail {

/// Classes of processes or ranks that hold the same boxes, and so can be exchanged.
struct holder_classes {
    vector<std::uint32_t> class_of;   ///< by holder
    vector<vector<holder_t>> members; ///< by class, ascending
    vector<holder_t> counts() const {
        vector<holder_t> holders;
        for (auto const& member : members)
            holders.push_back(static_cast<holder_t>(member.size()));
        return holders;
    }
    bool represents(holder_t holder) const { return members[class_of[holder]].front() == holder; }
};

/// The number of a holder's node if holders stay on their nodes; otherwise 0.
inline holder_t confining_node(holder_t holder, holder_t processes_per_node) {
    return processes_per_node == 0 ? 0 : holder / processes_per_node;
}

/// Classifies holders by the boxes that they hold and, if they stay on their nodes, by node. A
/// collision of digests, which is very unlikely, leads to a worse result and wrong sums.
inline holder_classes holder_classes_of(shard_kinds const& kinds, holder_t count,
                                        holder_t processes_per_node) {
    vector<hasher> digests(count);
    auto const& spreads = kinds.spreads();
    for (std::size_t spread = 0; spread < spreads.size(); ++spread)
        for (std::size_t i = 0; spreads[spread] && i < spreads[spread].size(); ++i) {
            hasher& digest = digests[spreads[spread].holder(i)];
            digest.add(std::uint64_t{spread});
            spreads[spread].for_each_box(i, [&](box const& region) {
                digest.add(std::span<index_t const>(region.offset.begin(), region.offset.end()));
                digest.add(std::span<index_t const>(region.shape.begin(), region.shape.end()));
            });
        }
    holder_classes classes;
    std::map<std::pair<holder_t, std::uint64_t>, std::uint32_t> numbers;
    for (holder_t h = 0; h < count; ++h) {
        holder_t const node = confining_node(h, processes_per_node);
        auto const match = numbers.try_emplace({node, digests[h].value()},
                                               static_cast<std::uint32_t>(classes.members.size()));
        if (match.second)
            classes.members.emplace_back();
        classes.class_of.push_back(match.first->second);
        classes.members[match.first->second].push_back(h);
    }
    return classes;
}

/// The common elements of a target shard and a source box, in all tensors of a kind.
struct common_part {
    key_id source = zero_source;
    std::uint32_t box = 0; ///< of the source's `shard_index`
    index_t bytes = 0;
};

/// Finds the common elements of target shards and source boxes. They are not stored, because every
/// process may have elements that every rank wants.
class overlap_finder {
public:
    explicit overlap_finder(plan_problem const& problem)
        : problem_(problem), sources_(problem), targets_(problem.targets) {
        scope_parts const parts({}, {}, sources_, targets_);
        equal_classes const cut = target_kinds(problem, sources_, targets_, parts).classes();
        auto const source = same_holders(sources_.kinds()), wanted = same_holders(targets_);
        std::map<numbers, std::size_t> candidates;
        for (std::uint32_t t = 0; t < problem.targets.size(); ++t) {
            if (problem.targets[t].added)
                continue;
            numbers key{cut.class_of[t], wanted[targets_.spread(t)]};
            for (std::size_t i = 0; i < problem.targets[t].pieces->size(); ++i)
                add_source(key, t, i, source);
            auto const match = candidates.try_emplace(std::move(key), kinds_.size());
            if (match.second)
                kinds_.push_back({t, 0, box_index(problem.targets[t].pieces->target_boxes())});
            ++kinds_[match.first->second].count;
        }
        list_shards();
    }

    /// Calls `visit(common_part)` for each part of the elements that a rank wants, once for all
    /// tensors of a kind.
    ///
    /// \throws the errors of `make_plan`
    void for_each_of(holder_t rank, auto&& visit) const {
        for (std::size_t i = first_[rank]; i < first_[rank + 1]; ++i)
            visit_shard(kinds_[shards_[i].kind], shards_[i].shard, visit);
    }

    /// Calls `visit(holder)` once for each holder of the part.
    void for_each_sender(common_part const& part, auto&& visit) const {
        shard_index const& index = sources_.of(part.source);
        if (index.replicas(part.box) == 1)
            return visit(
                problem_.sources[part.source].shards.holder(index.replica(part.box, 0).shard));
        for (holder_t const sender : sources_.senders_of(part.source, part.box, std::identity()))
            visit(sender);
    }

private:
    using numbers = vector<std::uint64_t>;

    /// Target tensors with the same cuts, holders and conversions.
    struct kind {
        std::uint32_t example = 0;
        index_t count = 0;
        box_index pieces; ///< of the example
    };

    /// A shard of a kind's example.
    struct kind_shard {
        std::uint32_t kind = 0;
        std::uint32_t shard = 0;
    };

    /// Lists the shards of all kinds by rank.
    void list_shards() {
        auto const for_each_shard = [&](auto&& visit) {
            for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
                tensor_shards const& shards = problem_.targets[kinds_[k].example].shards;
                for (std::uint32_t i = 0; i < shards.size(); ++i)
                    visit(shards.holder(i), kind_shard{k, i});
            }
        };
        first_.assign(std::size_t{problem_.target_holders} + 1, 0);
        for_each_shard([&](holder_t rank, kind_shard) { ++first_[rank + 1]; });
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        shards_.resize(first_.back());
        auto next = first_;
        for_each_shard([&](holder_t rank, kind_shard shard) { shards_[next[rank]++] = shard; });
    }

    void add_source(numbers& key, std::uint32_t t, std::size_t piece,
                    vector<std::uint32_t> const& stated) const {
        key_id const source = problem_.targets[t].pieces->source(piece);
        key.push_back(source == zero_source
                          ? std::uint64_t{0}
                          : std::uint64_t{stated[sources_.kinds().spread(source)]} + 1);
        key.push_back(static_cast<std::uint64_t>(wire_bytes(problem_, t, piece, 8)));
    }

    void visit_shard(kind const& same_kind, std::uint32_t shard, auto& visit) const {
        target_side const& target = problem_.targets[same_kind.example];
        target.shards.for_each_box(shard, [&](box const& region) {
            index_t index = 0;
            auto const add_to = [&](std::uint32_t piece) {
                return [&, piece](key_id source, std::uint32_t held_count, index_t elements) {
                    index += elements;
                    index_t const bytes = wire_bytes(problem_, same_kind.example, piece, elements);
                    visit(common_part{source, held_count,
                                      checked_multiply(bytes, same_kind.count, "all bytes")});
                };
            };
            if (!is_empty(region))
                same_kind.pieces.for_each_overlap(
                    region, [&](std::uint32_t piece, box const& common) {
                        visit_piece((*target.pieces)[piece], common, add_to(piece));
                    });
            if (index != element_count(region))
                fail_not_covered(target, shard);
        });
    }

    /// Fails with the same error as `make_plan`.
    void fail_not_covered(target_side const& target, std::uint32_t shard) const {
        placed_pattern cuts(target.shards.ndim());
        cut_finder(problem_, target, sources_).find_sources_of(shard, cuts);
    }

    /// Calls `visit` for the parts of a piece that different source boxes hold, cut as in a plan.
    void visit_piece(piece const& whole_piece, box const& region, auto&& visit) const {
        cut_to_target(whole_piece, region, [&](piece const& p) {
            if (p.source == zero_source)
                return visit(p.source, 0, element_count(p.extent));
            sources_.of(p.source).for_each_overlap(
                p.source_box(), [&](std::uint32_t held_count, box const& common) {
                    if (!p.joins.any())
                        return visit(p.source, held_count, element_count(common));
                    cut_to_source(p, common, [&](piece const& part) {
                        visit(p.source, held_count, element_count(part.extent));
                    });
                });
        });
    }

    plan_problem const& problem_;
    source_indices sources_;
    shard_kinds targets_;
    vector<kind> kinds_;
    vector<std::size_t> first_; ///< by rank: index of the first shard in `shards_`
    vector<kind_shard> shards_;
};

/// The bytes that ranks want, and the bytes that stay in their processes.
struct kept_gains {
    index_t wanted = 0;
    vector<gain> gains; ///< rows: classes of ranks; columns: classes of processes

    index_t of(std::uint32_t ranks, std::uint32_t processes) const {
        auto const row = std::ranges::equal_range(gains, ranks, {}, &gain::row);
        auto const match = std::ranges::find(row, processes, &gain::column);
        return match == row.end() ? 0 : match->value;
    }
};

inline kept_gains kept_gains_of(plan_problem const& problem, holder_classes const& processes,
                                holder_classes const& ranks, holder_t processes_per_node) {
    kept_gains result;
    overlap_finder const overlaps(problem);
    constexpr std::size_t most_reserved = std::size_t{1} << 25;
    vector<index_t> kept(processes.members.size(), 0); // by class of processes
    vector<std::uint32_t> keepers;
    for (std::uint32_t kind = 0; kind < ranks.members.size(); ++kind) {
        holder_t const rank = ranks.members[kind].front();
        holder_t const node = confining_node(rank, processes_per_node);
        index_t wanted = 0;
        auto const keep = [&](holder_t process, index_t bytes) {
            if (!processes.represents(process) ||
                confining_node(process, processes_per_node) != node)
                return;
            std::uint32_t const keeper = processes.class_of[process];
            if (kept[keeper] == 0)
                keepers.push_back(keeper);
            kept[keeper] += bytes;
        };
        overlaps.for_each_of(rank, [&](common_part const& part) {
            wanted = checked_add(wanted, part.bytes, "all bytes");
            if (part.source != zero_source && part.bytes != 0)
                overlaps.for_each_sender(part, [&](holder_t sender) { keep(sender, part.bytes); });
        });
        auto const same_count = static_cast<index_t>(ranks.members[kind].size());
        result.wanted = checked_add(result.wanted,
                                    checked_multiply(wanted, same_count, "all bytes"), "all bytes");
        for (std::uint32_t const keeper : keepers)
            result.gains.push_back({kind, keeper, std::exchange(kept[keeper], 0)});
        keepers.clear();
        if (kind == 0) // other classes have about as many: growth would copy all of them
            result.gains.reserve(
                std::min(most_reserved, ranks.members.size() * result.gains.size()));
    }
    return result;
}

/// Assigns processes to ranks, class by class. A rank keeps the process of its own number if
/// possible.
class rank_assigner {
public:
    rank_assigner(holder_classes const& processes, holder_classes const& ranks)
        : processes_(processes),
          ranks_(ranks),
          process_of_(ranks.class_of.size(), no_process),
          is_taken_(processes.class_of.size(), false) {}

    void give(vector<assigned> assignments) {
        for (assigned& units : assignments)
            for (holder_t const rank : ranks_.members[units.row])
                if (units.count > 0 && rank < is_taken_.size() && is_free(rank, rank) &&
                    processes_.class_of[rank] == units.column)
                    take(rank, rank, units);
        vector<std::size_t> next(processes_.members.size(),
                                 0); // by class: members before it are taken
        for (assigned& units : assignments)
            for (holder_t const rank : ranks_.members[units.row])
                if (units.count > 0 && process_of_[rank] == no_process) {
                    auto const& members = processes_.members[units.column];
                    while (is_taken_[members[next[units.column]]])
                        ++next[units.column];
                    take(rank, members[next[units.column]], units);
                }
    }

    /// Assigns the other ranks, for which no bytes are kept: to the process of their number if it
    /// is free, otherwise to the first free process of the node, or of all.
    vector<holder_t> give_rest(holder_t processes_per_node) && {
        auto const count = static_cast<holder_t>(process_of_.size());
        for (holder_t rank = 0; rank < count; ++rank)
            if (is_free(rank, rank))
                set(rank, rank);
        holder_t next = 0; // without nodes: all processes before it are taken
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

    void take(holder_t rank, holder_t process, assigned& units) {
        set(rank, process);
        --units.count;
    }

    holder_classes const& processes_;
    holder_classes const& ranks_;
    vector<holder_t> process_of_;
    vector<bool> is_taken_;
};

} // namespace detail

RESHARD_DECL relabelling best_relabelling(mapping const& program, layout const& source,
                                          layout const& target, holder_t processes_per_node) {
    using namespace detail;
    plan_problem const problem = problem_of(program, source, target);
    holder_t const ranks = problem.target_holders;
    holder_t const processes = std::max(problem.source_holders, ranks);
    auto const holder_classes =
        holder_classes_of(shard_kinds(problem.sources), processes, processes_per_node);
    auto const wanted = holder_classes_of(shard_kinds(problem.targets), ranks, processes_per_node);
    kept_gains const gains = kept_gains_of(problem, holder_classes, wanted, processes_per_node);
    auto const kept = [&](holder_t process, holder_t rank) {
        return gains.of(wanted.class_of[rank], holder_classes.class_of[process]);
    };
    relabelling result;
    rank_assigner sender(holder_classes, wanted);
    sender.give(best_assignment(gains.gains, wanted.counts(), holder_classes.counts()));
    result.process_of = std::move(sender).give_rest(processes_per_node);
    result.bytes = gains.wanted;
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
    vector<vector<shard_descriptor>> by_process;
    for (holder_t rank = 0; rank < process_of.size(); ++rank) {
        by_process.resize(std::max<std::size_t>(by_process.size(), process_of[rank] + 1));
        by_process[process_of[rank]] = shards_of(ranks, rank);
    }
    layout layout = layout_of(by_process);
    layout.fused = ranks.fused;
    layout.has_global_order = ranks.has_global_order;
    return layout;
}

} // namespace reshard

#endif
