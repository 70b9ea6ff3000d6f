// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/holders_of.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_holders_of)

namespace {

using ranks_list = std::vector<holder_t>;

/// The ranks whose region overlaps, found by asking each.
ranks_list asked_one_by_one(distribution const& distribution, box const& wanted) {
    ranks_list found_ranks;
    for (holder_t rank = 0; rank < distribution.ranks().rank_count(); ++rank)
        if (auto const region = distribution.region(rank); region && intersect(*region, wanted))
            found_ranks.push_back(rank);
    return found_ranks;
}

/// Of ranks with equal regions, the first.
ranks_list first_of_equals(distribution const& distribution, ranks_list const& ranks) {
    ranks_list result;
    for (holder_t const rank : ranks)
        if (std::none_of(result.begin(), result.end(), [&](holder_t earlier) {
                return distribution.region(earlier) == distribution.region(rank);
            }))
            result.push_back(rank);
    return result;
}

/// Compares for all boxes of a matrix.
void compare_all(distribution const& distribution) {
    index_t const rows = distribution.shape()[0], columns = distribution.shape()[1];
    for (index_t top = 0; top <= rows; ++top)
        for (index_t height = 0; height <= rows - top; ++height)
            for (index_t left = 0; left <= columns; ++left)
                for (index_t width = 0; width <= columns - left; ++width) {
                    box const wanted{{top, left}, {height, width}};
                    ranks_list const expected = asked_one_by_one(distribution, wanted);
                    if (holders_of(distribution, wanted) != expected ||
                        holders_of(distribution, wanted, copies::main) !=
                            first_of_equals(distribution, expected))
                        BOOST_ERROR(to_string(distribution) + " has other holders of " +
                                    to_string(wanted));
                }
}

} // namespace

BOOST_AUTO_TEST_CASE(rows_between_two_cuts_have_two_holders) {
    distribution const distribution({{"tp", 4}}, {shard{0}}, {10, 2}); // 3, 3, 3, 1
    BOOST_TEST((holders_of(distribution, {{2, 0}, {2, 1}}) == ranks_list{0, 1}));
    BOOST_TEST((holders_of(distribution, {{9, 1}, {1, 1}}) == ranks_list{3}));
    BOOST_TEST((holders_of(distribution, whole({10, 2})) == ranks_list{0, 1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(an_empty_box_has_no_holders) {
    distribution const distribution({{"tp", 4}}, {replicate{}}, {10, 2});
    BOOST_TEST(holders_of(distribution, {{2, 0}, {0, 2}}).empty());
}

BOOST_AUTO_TEST_CASE(a_scalar_is_held_by_every_rank_and_mainly_by_the_first) {
    distribution const distribution({{"dp", 3}}, {replicate{}}, {});
    BOOST_TEST((holders_of(distribution, box{}) == ranks_list{0, 1, 2}));
    BOOST_TEST((holders_of(distribution, box{}, copies::main) == ranks_list{0}));
}

BOOST_AUTO_TEST_CASE(every_placement_agrees_with_asking_each_rank) {
    mesh const grid{{"pp", 2}, {"dp", 3}, {"tp", 2}};
    std::vector<placement> const choices{replicate{}, shard{0}, shard{1}, strided_shard{0}};
    for (placement const& pp : {placement(replicate{}), placement(only{1}), placement(shard{0})})
        for (placement const& dp : choices)
            for (placement const& tp : choices)
                compare_all({grid, {pp, dp, tp}, {5, 3}});
}

BOOST_AUTO_TEST_CASE(explicit_sizes_agree_with_asking_each_rank) {
    mesh const grid{{"dp", 4}, {"tp", 2}};
    compare_all({grid, {placement(0, {2, 0, 3, 0}), shard{1}}, {5, 3}});
    compare_all({grid, {placement(0, {0, 0, 0, 5}), shard{0}}, {5, 3}});
    compare_all({grid, {placement(1, {1, 1, 1, 0}), placement(0, {0, 5})}, {5, 3}});
}

BOOST_AUTO_TEST_CASE(more_ranks_than_rows_are_no_holders) {
    distribution const distribution({{"dp", 100000}}, {shard{0}}, {3});
    BOOST_TEST((holders_of(distribution, whole({3})) == ranks_list{0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(asking_costs_no_more_than_the_answer_however_many_ranks_there_are) {
    distribution const distribution({{"dp", 1 << 20}, {"tp", 1 << 10}}, {shard{0}, shard{1}},
                                    {index_t{1} << 40, index_t{1} << 20});
    int calls = 0;
    for_each_holder(distribution, {{(index_t{1} << 20) - 1, 0}, {2, 1}}, copies::all,
                    [&](holder_t rank, box const& region) {
                        BOOST_TEST((distribution.region(rank) == region));
                        ++calls;
                    });
    BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_SUITE_END()
