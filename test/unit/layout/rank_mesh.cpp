// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/mesh.hpp>

#include "support/says.hpp"

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/shards_of.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(layout_rank_mesh)

namespace {

/// Ten rows over two ranks, the second one first.
tensor_sharding rows_on_two_and_one() {
    return sharding_of("w", data_type::f32,
                       distribution(rank_mesh({{"tp", 2}}, {2, 1}), {shard{0}}, {10}));
}

} // namespace

BOOST_AUTO_TEST_CASE(ranks_stand_where_the_list_says) {
    rank_mesh const ranks({{"p", 2}, {"q", 2}}, {5, 3, 0, 7});
    BOOST_TEST(ranks.rank_end() == 8u);
    BOOST_TEST(ranks.rank_at(1) == 3u);
    BOOST_TEST((ranks.place_of(0) == 2u));
    BOOST_TEST(!ranks.place_of(1));
    BOOST_TEST(to_string(ranks) == "p=2 q=2 over the ranks 5, 3, 0, 7");
}

BOOST_AUTO_TEST_CASE(ranks_in_their_order_are_a_plain_mesh) {
    rank_mesh const plain(mesh{{"tp", 3}});
    BOOST_TEST((rank_mesh({{"tp", 3}}, {0, 1, 2}) == plain));
    BOOST_TEST(plain.is_plain());
    BOOST_TEST(!(rank_mesh({{"tp", 3}}, {0, 1, 3}) == plain));
    BOOST_TEST(plain.rank_end() == 3u);
    BOOST_TEST(!plain.place_of(3));
    BOOST_TEST(to_string(plain) == "tp=3");
}

BOOST_AUTO_TEST_CASE(a_list_that_does_not_fit_is_refused) {
    BOOST_CHECK_EXCEPTION(
        rank_mesh({{"tp", 3}}, {1, 2}), error,
        says(errc::bad_layout, "the mesh tp=3 has 3 places, but 2 ranks are listed"));
    BOOST_CHECK_EXCEPTION(rank_mesh({{"tp", 3}}, {1, 2, 1}), error,
                          says(errc::bad_layout, "the mesh tp=3 lists rank 1 twice"));
}

BOOST_AUTO_TEST_CASE(ranks_that_are_not_listed_hold_nothing) {
    tensor_sharding const rows = rows_on_two_and_one();
    distribution const& distribution = rows.parts[0].spread;
    BOOST_TEST(!distribution.region(0));
    BOOST_TEST((distribution.region(1) == box{{5}, {5}}));
    BOOST_TEST((distribution.region(2) == box{{0}, {5}}));
    BOOST_TEST(!distribution.region(3));
    BOOST_TEST((holders_of(distribution, {{4}, {2}}) == std::vector<holder_t>{1, 2}));
    BOOST_TEST((holders_of(rows, {{6}, {2}}) == std::vector<holder_t>{1}));
    BOOST_TEST(shards_of(rows, 0).empty());
    BOOST_TEST(shards_of(rows, 2).size() == 1u);
    BOOST_TEST(to_string(distribution) == "[10] on tp=2 over the ranks 2, 1: shard 0");
}

BOOST_AUTO_TEST_CASE(layouts_of_all_forms_know_the_list) {
    layout const layout = layout_of({rows_on_two_and_one()});
    BOOST_TEST(layout.holders == 3u);
    BOOST_TEST((layout == layout_of({rows_on_two_and_one()})));
    BOOST_TEST(shards_of(layout, 0).empty());
    BOOST_TEST((shards_of(layout, 1) ==
                std::vector<shard_descriptor>{{"w", data_type::f32, {10}, {{5}, {5}}}}));
    BOOST_TEST(
        (listed(layout.spread_of(layout.tensors[0])).holders() == std::vector<holder_t>{1, 2}));
}

BOOST_AUTO_TEST_CASE(flat_slices_go_to_the_ranks_that_are_listed) {
    tensor_sharding const slices = sharding_of(
        "w", data_type::f32, distribution(rank_mesh({{"dp", 2}}, {3, 1}), {replicate{}}, {10}),
        flat_sharing{.axes = 1, .slices = {}});
    BOOST_TEST((shards_of(slices, 3).front().flat == flat_range{0, 5}));
    BOOST_TEST((shards_of(slices, 1).front().flat == flat_range{5, 10}));
    BOOST_TEST((holders_of(slices, {{0}, {2}}) == std::vector<holder_t>{3}));
    BOOST_TEST((layout_of({slices}).holders == 4u));
}

BOOST_AUTO_TEST_SUITE_END()
