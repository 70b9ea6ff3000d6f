// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_IMPL_ASSIGNMENT_IPP
#define RESHARD_ANALYSIS_IMPL_ASSIGNMENT_IPP

#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/holder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

/// \file
/// Assigns units of rows to units of columns so that the sum of the gains is the greatest.

namespace reshard::detail {

/// The gain if a unit of a row is assigned to a column.
struct gain {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    index_t value = 0;
};

/// The number of units of a row that are assigned to a column.
struct assigned {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    holder_t count = 0;
};

/// Finds the assignment by shortest augmenting paths.
///
/// The dual values `of_row + of_column` are at least the gain of each pair, and equal to the gain
/// for assigned pairs. A row with unassigned units has the value 0, and so has a column with unused
/// capacity. Then no assignment has a greater sum.
///
/// \par Source the Hungarian method, with lists of gains that are not 0, and capacities
class path_solver {
public:
    path_solver(vector<gain> const& gains, vector<holder_t> supply, vector<holder_t> demand)
        : gains_(gains),
          supply_(std::move(supply)),
          demand_(std::move(demand)),
          first_(supply_.size() + 1, 0),
          row_value_(supply_.size(), 0),
          column_value_(demand_.size(), 0),
          given_(demand_.size()),
          rows_(supply_.size()),
          columns_(demand_.size()) {
        for (gain const& gain : gains_) {
            ++first_[gain.row + 1];
            row_value_[gain.row] = std::max(row_value_[gain.row], gain.value);
        }
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
    }

    /// The assignment; std::nullopt if it takes more than `steps` steps. Each step reads one gain.
    /// The limit is a count, not a time, so that all ranks decide the same.
    std::optional<vector<assigned>> solve_within(std::uint64_t steps) && {
        // The most valuable rows first: later rows seldom displace them.
        vector<std::uint32_t> order(supply_.size());
        std::iota(order.begin(), order.end(), 0u);
        std::ranges::stable_sort(order, std::greater<>(),
                                 [&](std::uint32_t row) { return row_value_[row]; });
        for (std::uint32_t const row : order)
            assign_at_once(row);
        for (std::uint32_t const row : order)
            while (supply_[row] > 0) {
                augment(row);
                if (steps_ > steps)
                    return std::nullopt;
            }
        vector<assigned> all;
        for (std::uint32_t column = 0; column < given_.size(); ++column)
            for (auto const& [row, count] : given_[column])
                all.push_back({row, column, count});
        return all;
    }

private:
    static constexpr std::uint32_t none = 0xffffffff;

    /// The distance of a row or a column in a search, and the step by which the search came there.
    struct reached {
        index_t distance = 0;
        std::uint32_t from = none; ///< the column before a row, the row before a column
        std::uint64_t search = 0;  ///< the search that came there
    };

    /// The end of a path: a column with free capacity, or a row that keeps a unit unassigned.
    struct path_end {
        index_t distance = std::numeric_limits<index_t>::max();
        std::uint32_t column = none, row = none;
    };

    /// The slack of a pair: at least 0, and at most twice the greatest gain.
    std::uint64_t slack(gain const& gain) const {
        return static_cast<std::uint64_t>(row_value_[gain.row]) +
               static_cast<std::uint64_t>(column_value_[gain.column]) -
               static_cast<std::uint64_t>(gain.value);
    }

    void give(std::uint32_t row, std::uint32_t column, holder_t count) {
        if (auto const match = given_[column].try_emplace(row, count); !match.second)
            match.first->second += count;
    }

    void take_back(std::uint32_t row, std::uint32_t column, holder_t count) {
        auto const match = given_[column].find(row);
        if ((match->second -= count) == 0)
            given_[column].erase(match);
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

    /// Assigns some units of a row along the shortest path. If the path ends at a row, that row
    /// gives up the same number of units.
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

    /// The nearest path end from a row, by slack.
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
                continue; // meanwhile reached on a shorter path
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
        steps_ += first_[row + 1] - first_[row];
        if (row_value_[row] < end.distance - distance)
            end = {distance + row_value_[row], none, row};
        auto const left = static_cast<std::uint64_t>(end.distance - distance);
        for (std::size_t i = first_[row]; i < first_[row + 1]; ++i) {
            std::uint64_t const further = slack(gains_[i]);
            if (further >= left)
                continue;
            index_t const there = distance + static_cast<index_t>(further);
            reached& column = columns_[gains_[i].column];
            if (column.search == search_ && column.distance <= there)
                continue;
            column = {there, row, search_};
            nearest_.emplace(there, gains_[i].column);
        }
    }

    /// Changes the dual values so that the slack is 0 for each pair on a path of this length or a
    /// shorter path.
    void adjust_values(index_t length) {
        for (std::uint32_t const row : found_rows_)
            row_value_[row] -= length - rows_[row].distance;
        for (std::uint32_t const column : found_columns_)
            column_value_[column] += length - columns_[column].distance;
    }

    vector<gain> const& gains_;
    vector<holder_t> supply_, demand_;
    vector<std::size_t> first_; ///< by row: index of its first gain
    vector<index_t> row_value_, column_value_;
    vector<std::map<std::uint32_t, holder_t>> given_; ///< by column: units of rows
    vector<reached> rows_, columns_;
    std::uint64_t search_ = 0, steps_ = 0;
    vector<std::uint32_t> found_rows_, found_columns_; ///< in this search, nearer than its end
    using place = std::pair<index_t, std::uint32_t>;
    std::priority_queue<place, vector<place>, std::greater<>> nearest_;
};

/// The number of units of all kinds.
inline std::size_t unit_count(vector<holder_t> const& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

/// The row or column of each unit.
inline vector<std::uint32_t> kinds_of(vector<holder_t> const& counts) {
    vector<std::uint32_t> values;
    values.reserve(unit_count(counts));
    for (std::uint32_t kind = 0; kind < counts.size(); ++kind)
        values.resize(values.size() + counts[kind], kind);
    return values;
}

/// Finds the assignment by an auction, in which units of rows bid for units of columns.
///
/// After a bid, a unit's gain minus its price is within one step of the best choice at these
/// prices. When each unit has a column, this holds for all units, and their sum is less than a step
/// for each unit below the greatest sum. Gains are scaled to multiples of a number above the number
/// of units, so a step of 1 gives the greatest sum. Prices of large steps are kept for smaller
/// steps, which change them little.
///
/// If gains are products, for example of rows that become columns, each augmenting path would lead
/// through most rows.
///
/// \par Source Bertsekas, "The auction algorithm", 1988, with scaling of the step
/// \tparam Value holds a gain; the time of a bid is the time to read all gains of a row
template <class Value>
class assignment_auction {
public:
    /// \pre the greatest gain is not 0, and 64 times that gain, times the number of units plus one,
    ///      fits `index_t`: with each step, prices rise by little more than the greatest gain
    assignment_auction(vector<gain> const& gains, vector<holder_t> const& supply,
                       vector<holder_t> const& demand)
        : row_of_(kinds_of(supply)), column_of_(kinds_of(demand)) {
        // The numbers of row units and column units are made equal; added units gain nothing.
        std::size_t const units = std::max(row_of_.size(), column_of_.size());
        row_of_.resize(units, static_cast<std::uint32_t>(supply.size()));
        scale_ = static_cast<index_t>(units) + 1;
        price_.resize(units, 0);
        gains_.resize((supply.size() + 1) * units, 0);
        vector<std::size_t> first(demand.size() + 1, 0);
        std::partial_sum(demand.begin(), demand.end(), first.begin() + 1);
        for (gain const& gain : gains) {
            std::fill_n(gains_of(gain.row) + first[gain.column], demand[gain.column],
                        static_cast<Value>(gain.value));
            most_ = std::max(most_, gain.value);
        }
    }

    vector<assigned> solve() && {
        for (index_t step = most_ * scale_; step > 1;) {
            step = std::max(step / finer, index_t{1});
            sell_all(step);
        }
        vector<assigned> all;
        for (std::size_t column = 0; column < column_of_.size(); ++column)
            if (std::uint32_t const row = row_of_[owner_[column]]; gains_of(row)[column] > 0)
                all.push_back({row, column_of_[column], 1});
        return all;
    }

private:
    static constexpr std::uint32_t none = 0xffffffff;
    static constexpr index_t finer = 5; ///< the divisor from each step to the next
    static constexpr index_t lowest = std::numeric_limits<index_t>::min();

    /// The best column of a row, its profit, and the profit of the next best column.
    struct choice {
        std::size_t column = 0;
        index_t best = lowest, next = lowest;
    };

    Value* gains_of(std::uint32_t row) { return gains_.data() + row * price_.size(); }

    /// Sells all columns again, from the present prices on.
    void sell_all(index_t step) {
        owner_.assign(price_.size(), none);
        for (std::uint32_t first = 0; first < row_of_.size(); ++first)
            for (std::uint32_t unit = first; unit != none;) {
                choice const found_choice = choose(gains_of(row_of_[unit]));
                price_[found_choice.column] += found_choice.best - found_choice.next + step;
                unit = std::exchange(owner_[found_choice.column], unit);
            }
    }

    /// Reads gains in blocks, and then the best block once more: this makes the loop over all gains
    /// shorter.
    choice choose(Value const* gains) const {
        constexpr std::size_t block = 64;
        choice found_choice;
        std::size_t best_block = 0;
        for (std::size_t first = 0; first < price_.size(); first += block) {
            index_t most = lowest;
            for (std::size_t i = first; i < std::min(first + block, price_.size()); ++i)
                most = std::max(most, net_gain(gains, i));
            found_choice.next = std::max(found_choice.next, std::min(found_choice.best, most));
            if (most > found_choice.best) {
                found_choice.best = most;
                best_block = first;
            }
        }
        found_choice.best = lowest;
        for (std::size_t i = best_block; i < std::min(best_block + block, price_.size()); ++i) {
            index_t const here = net_gain(gains, i);
            found_choice.next = std::max(found_choice.next, std::min(found_choice.best, here));
            if (here > found_choice.best) {
                found_choice.best = here;
                found_choice.column = i;
            }
        }
        return found_choice;
    }

    /// The gain minus the price.
    index_t net_gain(Value const* gains, std::size_t column) const {
        return static_cast<index_t>(gains[column]) * scale_ - price_[column];
    }

    vector<std::uint32_t> row_of_, column_of_; ///< by unit
    vector<Value> gains_;                      ///< by row, by unit of the columns
    index_t most_ = 0, scale_ = 1;
    vector<index_t> price_;       ///< by unit of the columns, here and below
    vector<std::uint32_t> owner_; ///< the unit of the rows that has bought it
};

/// The number of steps along paths before an auction takes over. An auction reads the gains of all
/// pairs again and again, even if most are 0. If many pairs have a gain, the number is 0: no steps
/// are needed if rows want different columns. If few pairs have a gain, most paths are short, and
/// the auction is for the long ones. Paths alone are used if there are few kinds, because each path
/// assigns many units, and if bids might overflow.
inline std::uint64_t steps_before_auction(vector<gain> const& gains, vector<holder_t> const& supply,
                                          vector<holder_t> const& demand) {
    constexpr std::uint64_t total = std::numeric_limits<std::uint64_t>::max();
    constexpr std::size_t fewest = 32, most_copies = 4, steps_a_pair = 16;
    constexpr std::size_t most_gains = std::size_t{1} << 26; // 4 or 8 bytes each, most of them 0
    std::size_t const kinds = std::min(supply.size(), demand.size());
    std::size_t const units = std::max(unit_count(supply), unit_count(demand));
    std::size_t const pairs = supply.size() * demand.size();
    if (kinds < fewest || units > most_copies * kinds || gains.size() < pairs / 64)
        return total;
    index_t const greatest = std::ranges::max(gains, {}, &gain::value).value;
    if (greatest <= 0 ||
        greatest >= std::numeric_limits<index_t>::max() / 64 / static_cast<index_t>(units + 1))
        return total;
    if (gains.size() >= pairs / 4)
        return 0;
    return supply.size() * units <= most_gains ? steps_a_pair * pairs : total;
}

/// Assigns units of rows to columns so that the sum of their gains is the greatest. Units without a
/// gain are not assigned.
///
/// The result is exact. If most pairs have a gain, the time depends little on the gains.
///
/// \param gains in the order of rows, each pair at most once; no gain is negative
/// \param supply by row: the number of units
/// \param demand by column: the number of units that it takes
inline vector<assigned> best_assignment(vector<gain> const& gains, vector<holder_t> supply,
                                        vector<holder_t> demand) {
    std::uint64_t const steps = steps_before_auction(gains, supply, demand);
    if (auto match = path_solver(gains, supply, demand).solve_within(steps))
        return *std::move(match);
    auto const fits = [](gain const& gain) { return std::in_range<std::uint32_t>(gain.value); };
    return std::ranges::all_of(gains, fits)
               ? assignment_auction<std::uint32_t>(gains, supply, demand).solve()
               : assignment_auction<index_t>(gains, supply, demand).solve();
}

} // namespace reshard::detail

#endif
