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
/// Assigns units of one kind to units of another, so that the sum of the gains is the greatest.

namespace reshard::detail {

/// The gain of a unit of a row in a column.
struct gain {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    index_t value = 0;
};

/// How many of a row go to a column.
struct assigned {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    holder_t count = 0;
};

/// The assignment by shortest augmenting paths.
///
/// The dual values `of_row + of_column` are at least the gain of each pair, and equal to it for
/// assigned pairs; a row that keeps a unit, and a column that takes fewer than it can, have the
/// value 0. Then no assignment has a greater sum.
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

    /// The assignment; std::nullopt if it takes more steps than this. Each step looks at one gain.
    /// The limit is a count, not a time, so that all ranks decide the same.
    std::optional<vector<assigned>> solve_within(std::uint64_t steps) && {
        // The most valuable first: they are seldom displaced by those that follow.
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

    /// Not negative, and up to twice the greatest gain.
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

    /// Makes the pairs of a path of this length, and of those that are shorter, equal to their
    /// gains.
    void adjust_values(index_t length) {
        for (std::uint32_t const row : found_rows_)
            row_value_[row] -= length - rows_[row].distance;
        for (std::uint32_t const column : found_columns_)
            column_value_[column] += length - columns_[column].distance;
    }

    vector<gain> const& gains_;
    vector<holder_t> supply_, demand_;
    vector<std::size_t> first_; ///< by row, into the gains
    vector<index_t> row_value_, column_value_;
    vector<std::map<std::uint32_t, holder_t>> given_; ///< by column: units of rows
    vector<reached> rows_, columns_;
    std::uint64_t search_ = 0, steps_ = 0;
    vector<std::uint32_t> found_rows_, found_columns_; ///< in this search, below its end
    using place = std::pair<index_t, std::uint32_t>;
    std::priority_queue<place, vector<place>, std::greater<>> nearest_;
};

/// The number of units of all kinds.
inline std::size_t unit_count(vector<holder_t> const& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

/// The kind of each unit.
inline vector<std::uint32_t> kinds_of(vector<holder_t> const& counts) {
    vector<std::uint32_t> values;
    values.reserve(unit_count(counts));
    for (std::uint32_t kind = 0; kind < counts.size(); ++kind)
        values.resize(values.size() + counts[kind], kind);
    return values;
}

/// The assignment by an auction, in which units of rows bid for units of columns.
///
/// A bid leaves a unit within a step of the best that it could have at these prices. When each unit
/// has its column, this holds for all units, and their sum is below the greatest sum by less than a
/// step per unit. Gains are scaled to be multiples of more than there are units: with a step of 1,
/// nothing is missing. Prices of large steps are kept for smaller ones, which change them little.
///
/// Where gains are products, as of rows that become columns, each augmenting path would lead
/// through most rows.
///
/// \par Source Bertsekas, "The auction algorithm", 1988, with scaling of the step
/// \tparam Value holds a gain; bids take the time that it takes to read these
template <class Value>
class assignment_auction {
public:
    /// \pre the greatest gain is not 0, and 64 times it, times one more than there are units, fits
    ///      `index_t`: prices rise by little more than the greatest gain with each step
    assignment_auction(vector<gain> const& gains, vector<holder_t> const& supply,
                       vector<holder_t> const& demand)
        : row_of_(kinds_of(supply)), column_of_(kinds_of(demand)) {
        // The numbers of rows and columns are equal; added ones gain nothing.
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
    static constexpr index_t finer = 5; ///< how much smaller each step is
    static constexpr index_t lowest = std::numeric_limits<index_t>::min();

    /// The profit of a row in its best column, and in the next one.
    struct choice {
        std::size_t column = 0;
        index_t best = lowest, next = lowest;
    };

    Value* gains_of(std::uint32_t row) { return gains_.data() + row * price_.size(); }

    /// Sells each column again.
    void sell_all(index_t step) {
        owner_.assign(price_.size(), none);
        for (std::uint32_t first = 0; first < row_of_.size(); ++first)
            for (std::uint32_t unit = first; unit != none;) {
                choice const found_choice = choose(gains_of(row_of_[unit]));
                price_[found_choice.column] += found_choice.best - found_choice.next + step;
                unit = std::exchange(owner_[found_choice.column], unit);
            }
    }

    /// Looks at gains in blocks, and at one block twice: that makes the loop over all gains
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

    /// The rest of a gain when the price is paid.
    index_t net_gain(Value const* gains, std::size_t column) const {
        return static_cast<index_t>(gains[column]) * scale_ - price_[column];
    }

    vector<std::uint32_t> row_of_, column_of_; ///< by unit
    vector<Value> gains_;                      ///< by row, by unit of the columns
    index_t most_ = 0, scale_ = 1;
    vector<index_t> price_;       ///< by unit of the columns, here and below
    vector<std::uint32_t> owner_; ///< a unit of the rows
};

/// How many steps along paths are tried before an auction, which looks at all pairs again and
/// again, with a gain or none. If most pairs have one, no steps are tried, which is enough if rows
/// want different columns. If few have, most paths are short, and the auction is for the long ones.
/// Of few kinds, each path assigns many units; and bids must not become too large to count.
inline std::uint64_t steps_before_auction(vector<gain> const& gains, vector<holder_t> const& supply,
                                          vector<holder_t> const& demand) {
    constexpr std::uint64_t total = std::numeric_limits<std::uint64_t>::max();
    constexpr std::size_t fewest = 32, most_copies = 4, steps_a_pair = 16;
    constexpr std::size_t most_gains = std::size_t{1} << 26; // of 4 or 8 bytes, most of them 0
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

/// Gives units of rows to columns so that the sum of their gains is the greatest. Units without a
/// gain are not assigned.
///
/// The result is exact. If most pairs have a gain, the time depends little on the gains.
///
/// \param gains in the order of rows, each pair at most once; none is negative
/// \param supply by row: how many units there are
/// \param demand by column: how many it takes
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
