// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/replica.hpp>

#include "support/listed_layout.hpp"
#include "support/says.hpp"

#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_replica)

namespace {

std::vector<index_t> replica_numbers(distribution const& distribution) {
    std::vector<index_t> numbers;
    for (holder_t rank = 0; rank < distribution.ranks().rank_count(); ++rank)
        if (distribution.region(rank))
            numbers.push_back(distribution.replica_number(rank));
    return numbers;
}

/// The shards of a tensor of 8 elements, one rank each.
shard_table with_shards(std::vector<box> const& boxes) {
    shard_table shards(1);
    for (holder_t rank = 0; rank < boxes.size(); ++rank)
        shards.push_back(rank, boxes[rank]);
    return shards;
}

void check_copies(shard_table shards, index_t elements, std::vector<index_t> const& replicas) {
    layout const layout =
        test::listed_layout(static_cast<holder_t>(shards.size()),
                            {{"w", data_type::f32, {elements}, std::move(shards)}});
    check(layout, layout.tensors[0], replicas);
}

box const front{{0}, {4}}, back{{4}, {4}};

} // namespace

BOOST_AUTO_TEST_CASE(copies_are_counted_over_the_axes_that_replicate) {
    // dp=2 tp=3: every rank of the second data parallel group has the second copy.
    BOOST_TEST((replica_numbers({{{"dp", 2}, {"tp", 3}}, {replicate{}, shard{0}}, {6}}) ==
                std::vector<index_t>{0, 0, 0, 1, 1, 1}));
    // Copies over both outer and inner axes: dp 0 cp 0, dp 0 cp 1, dp 1 cp 0, dp 1 cp 1.
    BOOST_TEST((replica_numbers({{{"dp", 2}, {"tp", 2}, {"cp", 2}},
                                 {replicate{}, shard{0}, replicate{}},
                                 {6}}) == std::vector<index_t>{0, 1, 0, 1, 2, 3, 2, 3}));
    BOOST_TEST((replica_numbers({{{"pp", 2}, {"dp", 2}}, {only{1}, replicate{}}, {6}}) ==
                std::vector<index_t>{0, 1}));
}

BOOST_AUTO_TEST_CASE(the_numbers_of_a_distribution_pass) {
    distribution const distribution({{"dp", 2}, {"tp", 3}}, {replicate{}, shard{0}}, {7});
    check_copies(table_of(distribution), 7, replica_numbers(distribution));
}

BOOST_AUTO_TEST_CASE(of_several_copies_one_is_the_main_one) {
    check_copies(with_shards({front, back, front, back}), 8, {5, 0, 0, 3});
    check_copies(with_shards({}), 8, {});
}

BOOST_AUTO_TEST_CASE(a_shard_without_a_main_copy_names_its_ranks) {
    BOOST_CHECK_EXCEPTION(check_copies(with_shards({front, back, back}), 8, {0, 1, 2}), error,
                          says(errc::bad_layout,
                               "'w': the shard w: float32 [8] [4:8] has no main copy (replica 0), "
                               "only rank 1 (replica 1), rank 2 (replica 2)"));
}

BOOST_AUTO_TEST_CASE(a_shard_with_two_main_copies_names_their_ranks) {
    BOOST_CHECK_EXCEPTION(check_copies(with_shards({front, back, front, front}), 8, {0, 0, 1, 0}),
                          error,
                          says(errc::bad_layout, "'w': the shard w: float32 [8] [0:4] has 2 main "
                                                 "copies: rank 0 (replica 0), rank 3 (replica 0)"));
}

BOOST_AUTO_TEST_CASE(of_many_copies_some_are_named) {
    BOOST_CHECK_EXCEPTION(
        check_copies(with_shards(std::vector<box>(11, front)), 8, std::vector<index_t>(11, 0)),
        error,
        says(errc::bad_layout,
             "'w': the shard w: float32 [8] [0:4] has 11 main copies: rank 0 (replica 0), rank 1 "
             "(replica 0), rank 2 (replica 0), rank 3 (replica 0), rank 4 (replica 0), rank 5 "
             "(replica 0), rank 6 (replica 0), rank 7 (replica 0) and 3 more"));
}

BOOST_AUTO_TEST_CASE(flat_shards_count_for_themselves_and_empty_ones_not) {
    shard_table shards = with_shards({front, {{8}, {0}}});
    shards.push_back(2, whole({8}), flat_range{4, 8});
    check_copies(shards, 8, {0, 0, 0});
    // The flat range 0:4 of all is the box 0:4.
    shards.push_back(3, whole({8}), flat_range{0, 4});
    check_copies(shards, 8, {0, 7, 0, 1});
    BOOST_CHECK_EXCEPTION(check_copies(shards, 8, {0, 7, 0, 0}), error,
                          [](error const& problem) { return problem.code() == errc::bad_layout; });
}

BOOST_AUTO_TEST_SUITE_END()
