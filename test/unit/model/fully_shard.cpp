// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/fully_shard.hpp>
#include <reshard/model/parallel_tensor.hpp>

#include "support/held_once.hpp"
#include "support/says.hpp"

#include <array>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_fully_shard)

namespace {

using row_list = std::vector<std::array<index_t, 2>>;

/// First row and number of rows on each rank.
row_list rows_of(distribution const& distribution) {
    row_list rows;
    for (holder_t rank = 0; rank < distribution.ranks().rank_count(); ++rank)
        rows.push_back({distribution.region(rank)->offset[0], distribution.region(rank)->shape[0]});
    return rows;
}

void refused_shard(distribution const& distribution, std::size_t axis, std::string const& text) {
    BOOST_CHECK_EXCEPTION(fully_shard(distribution, "dp", "w", axis), error,
                          test::says(errc::bad_layout, "'w': " + text));
}

} // namespace

BOOST_AUTO_TEST_CASE(rows_are_rounded_up_and_the_last_ranks_may_have_none) {
    mesh const ranks{{"dp", 5}};
    BOOST_TEST((rows_of(fully_shard({ranks, {replicate{}}, {7, 2}}, "dp")) ==
                row_list{{0, 2}, {2, 2}, {4, 2}, {6, 1}, {7, 0}}));
}

BOOST_AUTO_TEST_CASE(hybrid_sharding_copies_what_each_group_cuts) {
    mesh const ranks{{"dp_replicate", 2}, {"dp_shard", 3}};
    BOOST_TEST((rows_of(fully_shard({ranks, {replicate{}, replicate{}}, {7}}, "dp_shard")) ==
                row_list{{0, 3}, {3, 3}, {6, 1}, {0, 3}, {3, 3}, {6, 1}}));
}

BOOST_AUTO_TEST_CASE(tensor_parallelism_cuts_the_same_axis_first) {
    mesh const ranks{{"dp", 2}, {"tp", 2}};
    distribution const cut = fully_shard({ranks, {replicate{}, shard{0}}, {10}}, "dp");
    BOOST_TEST(to_string(cut) == "[10] on dp=2 tp=2: strided shard 0; shard 0");
    BOOST_TEST((rows_of(cut) == row_list{{0, 3}, {5, 3}, {3, 2}, {8, 2}}));
    // Another axis is cut independently.
    BOOST_TEST(to_string(fully_shard({ranks, {replicate{}, shard{1}}, {4, 6}}, "dp")) ==
               "[4, 6] on dp=2 tp=2: shard 0; shard 1");
}

BOOST_AUTO_TEST_CASE(copies_on_other_stages_are_cut_alike) {
    parallel_job const job({.tp = 2, .dp = 3, .pp = 2}, even_pipeline(2, 2));
    tensor_sharding const tied = fully_shard(
        sharding_of(
            {.key = "e", .shape = {10, 2}, .cut = column_parallel(), .stage = on_both_ends()}, job),
        "dp");
    BOOST_TEST(test::is_held_once(tied));
    BOOST_TEST(test::is_inverse(tied));
    BOOST_TEST((holders_of(tied, {{4, 0}, {1, 2}}) == std::vector<holder_t>{4, 10}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_fully_sharded_is_refused) {
    mesh const ranks{{"dp", 4}};
    refused_shard({ranks, {replicate{}}, {}}, 0,
                  "a scalar cannot be fully sharded; give it one axis of extent 1");
    refused_shard(
        {ranks, {shard{0}}, {8}}, 0,
        "cannot fully shard over mesh axis 'dp': its placement must be replicate, not shard 0");
    refused_shard({ranks, {replicate{}}, {8, 6}}, 1,
                  "axis 1: mesh axis 'dp' cannot cut the extent 6 into 4 equal parts; use a ceil "
                  "split or give sizes");
    refused_shard({ranks, {replicate{}}, {8, 6}}, 2,
                  "mesh axis 'dp' cuts axis 2 of a tensor of 2 axes");
    parallel_job const job({.tp = 2, .dp = 2});
    BOOST_CHECK_EXCEPTION(
        fully_shard(sharding_of({.key = "w", .shape = {8, 2}, .cut = fused_gate_up()}, job), "dp"),
        error,
        test::says(errc::bad_layout,
                   "'w' has 2 parts; only a tensor of one part can be fully sharded"));
}

BOOST_AUTO_TEST_SUITE_END()
