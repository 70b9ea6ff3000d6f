// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_RELABELLING_IPP
#define RESHARD_PLAN_IMPL_RELABELLING_IPP

#include <reshard/plan/relabelling.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace reshard {

namespace detail {

/// The assignment by shortest augmenting paths.
///
/// The dual values `of_row + of_column` are at least the gain of each pair, and equal to it where
/// something is assigned; a row that keeps a unit, and a column that takes fewer than it can, have
/// the value 0. Then no assignment has a greater sum.
///
/// \par Source the Hungarian method, with lists of gains that are not 0, and capacities
class assignment_solver {
public:
    assignment_solver(std::vector<gain> gains, std::vector<holder_t> supply,
                      std::vector<holder_t> demand)
        : gains_(std::move(gains)),
          supply_(std::move(supply)),
          demand_(std::move(demand)),
          first_(supply_.size() + 1, 0),
          row_value_(supply_.size(), 0),
          column_value_(demand_.size(), 0),
          given_(demand_.size()),
          rows_(supply_.size()),
          columns_(demand_.size()) {
        for (gain const& one : gains_) {
            ++first_[one.row + 1];
            row_value_[one.row] = std::max(row_value_[one.row], one.value);
        }
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
    }

    std::vector<assigned> solve() && {
        // The most valuable first: they are seldom displaced by those that follow.
        std::vector<std::uint32_t> order(supply_.size());
        std::iota(order.begin(), order.end(), 0u);
        std::ranges::stable_sort(order, std::greater<>(),
                                 [&](std::uint32_t row) { return row_value_[row]; });
        for (std::uint32_t const row : order)
            assign_at_once(row);
        for (std::uint32_t const row : order)
            while (supply_[row] > 0)
                augment(row);
        std::vector<assigned> all;
        for (std::uint32_t column = 0; column < given_.size(); ++column)
            for (auto const& [row, count] : given_[column])
                all.push_back({row, column, count});
        return all;
    }

private:
    static constexpr std::uint32_t none = 0xffffffff;

    /// How a search came to a row or a column, and how far it is.
    struct reached {
        index_t distance = 0;
        std::uint32_t from = none; ///< the column before a row, the row before a column
        std::uint64_t search = 0;  ///< the one that this was found in
    };

    /// Where a path ends: at a column that takes more, or at a row that keeps a unit for itself.
    struct path_end {
        index_t distance = std::numeric_limits<index_t>::max();
        std::uint32_t column = none, row = none;
    };

    index_t slack(gain const& one) const {
        return row_value_[one.row] + column_value_[one.column] - one.value;
    }

    void give(std::uint32_t row, std::uint32_t column, holder_t count) {
        if (auto const found = given_[column].try_emplace(row, count); !found.second)
            found.first->second += count;
    }

    void take_back(std::uint32_t row, std::uint32_t column, holder_t count) {
        auto const found = given_[column].find(row);
        if ((found->second -= count) == 0)
            given_[column].erase(found);
    }

    void assign_at_once(std::uint32_t row) {
        for (std::size_t i = first_[row]; i < first_[row + 1] && supply_[row] > 0; ++i) {
            std::uint32_t const column = gains_[i].column;
            if (holder_t const count = std::min(supply_[row], demand_[column]);
                count > 0 && slack(gains_[i]) == 0) {
                give(row, column, count);
                supply_[row] -= count;
                demand_[column] -= count;
            }
        }
    }

    /// Assigns some units of a row along the shortest path, or lets a row keep some for it.
    void augment(std::uint32_t root) {
        path_end const end = search_from(root);
        adjust_values(end.distance);
        std::uint32_t const last = end.column == none ? end.row : columns_[end.column].from;
        holder_t count = supply_[root];
        if (end.column != none)
            count = std::min(count, demand_[end.column]);
        for (std::uint32_t row = last; row != root; row = row_before(row))
            count = std::min(count, given_[rows_[row].from].at(row));
        if (end.column != none) {
            give(last, end.column, count);
            demand_[end.column] -= count;
        }
        for (std::uint32_t row = last; row != root; row = row_before(row)) {
            take_back(row, rows_[row].from, count);
            give(row_before(row), rows_[row].from, count);
        }
        supply_[root] -= count;
    }

    std::uint32_t row_before(std::uint32_t row) const { return columns_[rows_[row].from].from; }

    /// The nearest end from a row, by slack.
    path_end search_from(std::uint32_t root) {
        ++search_;
        found_rows_.clear();
        found_columns_.clear();
        nearest_ = {};
        path_end end;
        reach_row(root, 0, none, end);
        while (!nearest_.empty()) {
            auto const [distance, column] = nearest_.top();
            nearest_.pop();
            if (distance >= end.distance)
                break;
            if (distance > columns_[column].distance)
                continue; // reached on a shorter way meanwhile
            if (demand_[column] > 0)
                return {distance, column, none};
            found_columns_.push_back(column);
            for (auto const& [row, count] : given_[column])
                if (rows_[row].search != search_)
                    reach_row(row, distance, column, end);
        }
        return end;
    }

    void reach_row(std::uint32_t row, index_t distance, std::uint32_t from, path_end& end) {
        rows_[row] = {distance, from, search_};
        found_rows_.push_back(row);
        if (distance + row_value_[row] < end.distance)
            end = {distance + row_value_[row], none, row};
        for (std::size_t i = first_[row]; i < first_[row + 1]; ++i) {
            index_t const there = distance + slack(gains_[i]);
            reached& column = columns_[gains_[i].column];
            if (there >= end.distance || (column.search == search_ && column.distance <= there))
                continue;
            column = {there, row, search_};
            nearest_.emplace(there, gains_[i].column);
        }
    }

    /// Makes the pairs of a path of this length, and of those that are shorter, equal to their
    /// gains.
    void adjust_values(index_t length) {
        for (std::uint32_t const row : found_rows_)
            row_value_[row] -= length - rows_[row].distance;
        for (std::uint32_t const column : found_columns_)
            column_value_[column] += length - columns_[column].distance;
    }

    std::vector<gain> gains_; ///< by row
    std::vector<holder_t> supply_, demand_;
    std::vector<std::size_t> first_; ///< by row, into the gains
    std::vector<index_t> row_value_, column_value_;
    std::vector<std::map<std::uint32_t, holder_t>> given_; ///< by column: units of rows
    std::vector<reached> rows_, columns_;
    std::uint64_t search_ = 0;
    std::vector<std::uint32_t> found_rows_, found_columns_; ///< in this search, below its end
    using place = std::pair<index_t, std::uint32_t>;
    std::priority_queue<place, std::vector<place>, std::greater<>> nearest_;
};

RESHARD_DECL std::vector<assigned> best_assignment(std::vector<gain> gains,
                                                   std::vector<holder_t> supply,
                                                   std::vector<holder_t> demand) {
    return assignment_solver(std::move(gains), std::move(supply), std::move(demand)).solve();
}

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
