// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/analysis/impl/assignment.ipp>

#include "oracle/random.hpp"
#include "support/trials.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(plan_assignment)

namespace {

using matrix = std::vector<std::vector<index_t>>;

struct counted_matrix {
    matrix values;
    std::vector<holder_t> supply, demand;
};

/// Row by row, each unit is a separate row or column, the same number of both: missing ones are 0.
matrix units_of(counted_matrix const& counted_matrix) {
    matrix units;
    for (std::size_t row = 0; row < counted_matrix.supply.size(); ++row) {
        std::vector<index_t> values;
        for (std::size_t column = 0; column < counted_matrix.demand.size(); ++column)
            values.insert(values.end(), counted_matrix.demand[column],
                          counted_matrix.values[row][column]);
        units.insert(units.end(), counted_matrix.supply[row], values);
    }
    std::size_t const columns = units.empty() ? 0 : units[0].size();
    std::size_t const size = std::max(units.size(), columns);
    units.resize(size);
    for (std::vector<index_t>& row : units)
        row.resize(size, 0);
    return units;
}

/// One more row for the Hungarian method: row `row` is assigned along a path of the least slack.
struct hungarian {
    matrix const& values;
    std::vector<index_t> of_row, of_column;
    std::vector<std::size_t> row_of; ///< by column; a path begins at the last one

    explicit hungarian(matrix const& full_matrix)
        : values(full_matrix),
          of_row(full_matrix.size(), 0),
          of_column(full_matrix.size() + 1, 0),
          row_of(full_matrix.size() + 1, full_matrix.size()) {}

    void add(std::size_t row) {
        std::size_t const size = values.size();
        std::vector<index_t> slack(size, std::numeric_limits<index_t>::max());
        std::vector<std::size_t> before(size, size);
        std::vector<bool> is_reached(size + 1, false);
        std::size_t at = size;
        for (row_of[at] = row; row_of[at] != size;) {
            is_reached[at] = true;
            std::size_t next = size;
            for (std::size_t c = 0; c < size; ++c) {
                if (is_reached[c])
                    continue;
                index_t const here = -values[row_of[at]][c] - of_row[row_of[at]] - of_column[c];
                if (here < slack[c]) {
                    slack[c] = here;
                    before[c] = at;
                }
                if (next == size || slack[c] < slack[next])
                    next = c;
            }
            index_t const least = slack[next];
            for (std::size_t c = 0; c <= size; ++c)
                if (is_reached[c]) {
                    of_row[row_of[c]] += least;
                    of_column[c] -= least;
                } else {
                    slack[c] -= least;
                }
            at = next;
        }
        for (; at != size; at = before[at])
            row_of[at] = row_of[before[at]];
        row_of[size] = size;
    }
};

index_t greatest_sum(counted_matrix const& counted_matrix) {
    matrix const units = units_of(counted_matrix);
    hungarian hungarian(units);
    for (std::size_t row = 0; row < units.size(); ++row)
        hungarian.add(row);
    index_t sum = 0;
    for (std::size_t column = 0; column < units.size(); ++column)
        sum += units[hungarian.row_of[column]][column];
    return sum;
}

std::vector<gain> gains_of(counted_matrix const& counted_matrix) {
    std::vector<gain> gains;
    for (std::uint32_t row = 0; row < counted_matrix.supply.size(); ++row)
        for (std::uint32_t column = 0; column < counted_matrix.demand.size(); ++column)
            if (counted_matrix.values[row][column] > 0)
                gains.push_back({row, column, counted_matrix.values[row][column]});
    return gains;
}

/// The sum of the assigned units, which exceeds no limit.
index_t sum_assigned(counted_matrix counted_matrix) {
    index_t sum = 0;
    for (assigned const& pair :
         best_assignment(gains_of(counted_matrix), counted_matrix.supply, counted_matrix.demand)) {
        BOOST_TEST_REQUIRE(pair.count > 0u);
        BOOST_TEST_REQUIRE(pair.count <= counted_matrix.supply[pair.row]);
        BOOST_TEST_REQUIRE(pair.count <= counted_matrix.demand[pair.column]);
        BOOST_TEST_REQUIRE(counted_matrix.values[pair.row][pair.column] > 0);
        counted_matrix.supply[pair.row] -= pair.count;
        counted_matrix.demand[pair.column] -= pair.count;
        sum += counted_matrix.values[pair.row][pair.column] * static_cast<index_t>(pair.count);
    }
    return sum;
}

using maker = std::function<index_t(index_t, index_t)>;

counted_matrix made(std::size_t rows, std::size_t columns, maker const& value) {
    counted_matrix counted_matrix{matrix(rows, std::vector<index_t>(columns)),
                                  std::vector<holder_t>(rows, 1),
                                  std::vector<holder_t>(columns, 1)};
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column)
            counted_matrix.values[row][column] =
                value(static_cast<index_t>(row), static_cast<index_t>(column));
    return counted_matrix;
}

/// Gains of many sorts.
std::vector<maker> makers(oracle::random_numbers& random) {
    return {
        [&](index_t, index_t) { return random.between(1, 1'000'000'000); },
        [&](index_t, index_t) { return random.between(0, 3); }, // many are the same
        [](index_t row, index_t column) { return (row + 1) * (column + 1); },
        [](index_t row, index_t column) { return (row + 1) * (90 - column); },
        [](index_t row, index_t column) { return std::min(row, column) + 1; },
        [&](index_t row, index_t column) {
            return random.between(1, 100) + (row == column ? 60 : 0);
        },
        [&](index_t, index_t) { // beyond 32 bits, and far apart
            return random.between(1, 1000) * (random.chance(2) ? 1'000'000'000'000 : 1);
        },
        [&](index_t, index_t) { return random.chance(40) ? random.between(1, 9) : 0; },
        [&](index_t, index_t) { return random.chance(5) ? random.between(1, 50) : 0; },
        [](index_t, index_t) { return 7; },
        [](index_t, index_t) { return 0; },
    };
}

} // namespace

BOOST_AUTO_TEST_CASE(the_sum_is_that_of_the_hungarian_method) {
    oracle::random_numbers random(2024);
    for (maker const& value : makers(random))
        for (auto const& [rows, columns] :
             {std::pair(60, 60), {60, 45}, {40, 70}, {33, 32}, {5, 9}}) {
            counted_matrix const counted_matrix =
                made(std::size_t(rows), std::size_t(columns), value);
            BOOST_TEST(sum_assigned(counted_matrix) == greatest_sum(counted_matrix));
        }
}

BOOST_AUTO_TEST_CASE(few_gains_whose_paths_are_long_have_their_greatest_sum) {
    // No pair has more than its row and its column are worth, and the pairs of one permutation
    // have as much: nothing can have more than all are worth.
    oracle::random_numbers random(2027);
    constexpr index_t size = 400; // smaller ones are done before an auction is worth it
    auto const worth = [](index_t i) { return (i + 1) * (i + 1); };
    auto const partner = [](index_t row) { return (row * 7 + 3) % size; };
    counted_matrix const counted_matrix = made(size, size, [&](index_t row, index_t column) {
        index_t const most = worth(row) + worth(column);
        if (column == partner(row))
            return most;
        return random.chance(20) ? most - random.between(0, std::min(most, index_t{20})) : 0;
    });
    index_t total = 0;
    for (index_t i = 0; i < size; ++i)
        total += 2 * worth(i);
    BOOST_TEST(sum_assigned(counted_matrix) == total);
}

BOOST_AUTO_TEST_CASE(rows_and_columns_of_several_units) {
    oracle::random_numbers random(2025);
    for (maker const& value : makers(random))
        for (holder_t const most : {2u, 4u, 12u}) {
            if (test::is_sanitized && most > 2) // the oracle takes the cube of all units
                continue;
            counted_matrix counted_matrix = made(40, 36, value);
            for (holder_t& count : counted_matrix.supply)
                count = static_cast<holder_t>(random.between(0, most));
            for (holder_t& count : counted_matrix.demand)
                count = static_cast<holder_t>(random.between(1, most));
            BOOST_TEST(sum_assigned(counted_matrix) == greatest_sum(counted_matrix));
        }
}

BOOST_AUTO_TEST_CASE(gains_as_large_as_numbers_get) {
    constexpr index_t most = std::numeric_limits<index_t>::max();
    // Two that lose little, rather than one that loses nothing.
    counted_matrix const two = made(2, 2, [](index_t row, index_t column) {
        return most / 2 - (row == column ? 1 : row * most / 2);
    });
    BOOST_TEST(sum_assigned(two) == most - 3);
    // Of many pairs, all but one for each row and column are 0 or 1.
    counted_matrix const counted_matrix = made(40, 40, [](index_t row, index_t column) {
        return row == 3 && column == 5 ? most - 100 : row == column ? 0 : 1;
    });
    BOOST_TEST(sum_assigned(counted_matrix) == most - 100 + 39);
}

BOOST_AUTO_TEST_SUITE_END()
