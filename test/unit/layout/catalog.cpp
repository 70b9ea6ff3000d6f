// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_catalog)

namespace {

shard_descriptor part(std::string key, index_vector shape, box region) {
    return {std::move(key), data_type::f32, shape, region, {}};
}

} // namespace

BOOST_AUTO_TEST_CASE(entries_are_sorted_and_found_by_key) {
    catalog const full_catalog(
        {{"w.10", data_type::f32, {4}, {1}}, {"w.2", data_type::f16, {}, {}}});
    BOOST_TEST(full_catalog.size() == 2u);
    BOOST_TEST(!full_catalog.empty());
    BOOST_TEST(full_catalog[0].key == "w.10");
    BOOST_TEST(full_catalog.find("w.2") == &full_catalog[1]);
    BOOST_TEST(full_catalog.find("w.3") == nullptr);
    BOOST_TEST(catalog().find("w") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_key_that_stands_twice_is_refused) {
    BOOST_CHECK_EXCEPTION(
        catalog({{"w", data_type::f32, {4}, {1}}, {"w", data_type::f32, {4}, {1}}}), error,
        says(errc::bad_layout, "'w' appears twice in the catalog"));
}

BOOST_AUTO_TEST_CASE(each_axis_counts_its_own_parts) {
    // A grid of 2 x 3 boxes, one of them held twice.
    std::vector<std::vector<shard_descriptor>> ranks;
    for (index_t row = 0; row < 2; ++row)
        for (index_t column = 0; column < 3; ++column)
            ranks.push_back({part("w", {4, 6}, {{row * 2, column * 2}, {2, 2}})});
    ranks.push_back(ranks.front());
    catalog const catalog = catalog_of(layout_of(ranks));
    BOOST_TEST_REQUIRE(catalog.size() == 1u);
    BOOST_TEST((catalog[0] == catalog_entry{"w", data_type::f32, {4, 6}, {2, 3}}));
}

BOOST_AUTO_TEST_CASE(a_rank_with_several_parts_along_an_axis_is_told) {
    // Gate rows on top of up rows; the second rank has its halves in the other order.
    layout const pairs =
        layout_of({{part("w", {8, 4}, {{0, 0}, {4, 4}})},
                   {part("w", {8, 4}, {{4, 0}, {2, 4}}), part("w", {8, 4}, {{6, 0}, {2, 4}})}});
    catalog_entry const entry = catalog_of(pairs)[0];
    BOOST_TEST(entry.is_scattered(0));
    BOOST_TEST(!entry.is_scattered(1));
    BOOST_TEST(entry.scattered.rank == 1u);
    BOOST_TEST(entry.scattered.held == 2u);
    // Two boxes side by side along the other axis.
    layout const beside =
        layout_of({{part("w", {2, 4}, {{0, 0}, {2, 1}}), part("w", {2, 4}, {{0, 2}, {2, 1}})}});
    BOOST_TEST(!catalog_of(beside)[0].is_scattered(0));
    BOOST_TEST(catalog_of(beside)[0].is_scattered(1));
}

BOOST_AUTO_TEST_CASE(empty_shards_are_no_parts) {
    // Three rows on five ranks: two of them hold nothing.
    layout const layout = layout_of({{part("w", {3}, {{0}, {1}})},
                                     {part("w", {3}, {{1}, {1}})},
                                     {part("w", {3}, {{2}, {1}})},
                                     {part("w", {3}, {{3}, {0}})},
                                     {part("w", {3}, {{3}, {0}})}});
    BOOST_TEST((catalog_of(layout)[0].parts == index_vector{3}));
}

BOOST_AUTO_TEST_CASE(a_tensor_without_elements_is_one_part) {
    layout const full_layout = layout_of({{part("w", {0, 3}, {{0, 0}, {0, 3}})}});
    BOOST_TEST((catalog_of(full_layout)[0].parts == index_vector{1, 1}));
    layout const scalar = layout_of({{part("s", {}, {})}});
    BOOST_TEST(catalog_of(scalar)[0].parts.empty());
}

BOOST_AUTO_TEST_CASE(parts_that_are_not_equal_are_marked_along_their_axis) {
    layout const full_layout = layout_of({{part("w", {4, 6}, {{0, 0}, {2, 1}})},
                                          {part("w", {4, 6}, {{0, 1}, {2, 5}})},
                                          {part("w", {4, 6}, {{2, 0}, {2, 6}})}});
    catalog_entry const w = catalog_of(full_layout)[0];
    BOOST_TEST((w.parts == index_vector{2, 2}));
    BOOST_TEST(w.is_even(0));
    BOOST_TEST(!w.is_even(1));
    layout const thirds = layout_of(
        {{part("v", {8}, {{0}, {3}})}, {part("v", {8}, {{3}, {3}})}, {part("v", {8}, {{6}, {2}})}});
    BOOST_TEST(!catalog_of(thirds)[0].is_even(0));
    layout const window = layout_of({{part("u", {8}, {{2}, {3}})}});
    BOOST_TEST(catalog_of(window)[0].is_even(0));
}

BOOST_AUTO_TEST_SUITE_END()
