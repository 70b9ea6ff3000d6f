// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge/stored_shards.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>

using namespace reshard;
using namespace reshard::detail;

namespace {

constexpr data_type f32 = data_type::f32;

/// Rank 0 has the rows 0 and 1 of 'a', and two shards of 'b'; rank 1 the rest of 'a'.
layout two_ranks() {
    return layout_of({{{"b", f32, {20}, {{0}, {20}}, flat_range{0, 3}},
                       {"b", f32, {20}, {{0}, {20}}, flat_range{10, 20}},
                       {"a", f32, {3, 4}, {{0, 0}, {2, 4}}}},
                      {{"a", f32, {3, 4}, {{2, 0}, {1, 4}}}}});
}

index_t distance(void const* first, void const* second) {
    return static_cast<std::byte const*>(second) - static_cast<std::byte const*>(first);
}

} // namespace

BOOST_AUTO_TEST_SUITE(bridge_stored_shards)

BOOST_AUTO_TEST_CASE(shards_stand_one_behind_the_other_in_lines_of_their_own) {
    stored_shards const stored(two_ranks(), 0);
    BOOST_TEST_REQUIRE(stored.list().size() == 3u);
    BOOST_TEST((stored.list()[0].shape == index_vector{2, 4}));
    BOOST_TEST((stored.list()[1].shape == index_vector{3}));
    BOOST_TEST((stored.list()[2].shape == index_vector{10}));
    BOOST_TEST(stored.list()[0].bytes == 32);
    BOOST_TEST(stored.list()[1].offset == 64);
    BOOST_TEST(stored.list()[2].offset == 128);
    BOOST_TEST(stored.segment_bytes() == 3 * 4096); // stamps, and two buffers
    std::vector<std::byte> memory(3 * 4096);
    tensor_view const first = stored.view(memory.data(), 0, 2);
    BOOST_TEST(distance(memory.data(), first.data) == 4096 + 128);
    BOOST_TEST(distance(first.data, stored.view(memory.data(), 1, 2).data) == 4096);
    BOOST_TEST((stored.view(memory.data(), 0, 0).strides == index_vector{4, 1}));
}

BOOST_AUTO_TEST_CASE(each_shard_has_a_stamp_for_each_buffer) {
    stored_shards const stored(two_ranks(), 0);
    alignas(64) std::byte memory[6 * 8] = {};
    for (std::size_t buffer = 0; buffer < 2; ++buffer)
        for (std::size_t i = 0; i < 3; ++i)
            stored.stamp(memory, buffer, i).store(10 * buffer + i);
    for (std::size_t buffer = 0; buffer < 2; ++buffer)
        for (std::size_t i = 0; i < 3; ++i)
            BOOST_TEST(stored.stamp(memory, buffer, i).load() == 10 * buffer + i);
}

BOOST_AUTO_TEST_CASE(a_shard_is_found_where_its_holder_has_it) {
    layout const layout = two_ranks();
    stored_shards const first(layout, 0), second(layout, 1);
    BOOST_TEST(first.find(0, 0).value() == 0u);
    BOOST_TEST(first.find(1, 1).value() == 2u);
    BOOST_TEST(!first.find(0, 1));
    BOOST_TEST(second.find(0, 1).value() == 0u);
    BOOST_TEST(!second.find(1, 0));
}

BOOST_AUTO_TEST_CASE(a_holder_of_nothing_has_a_segment_of_some_bytes) {
    stored_shards const none(two_ranks(), 2);
    BOOST_TEST(none.list().empty());
    BOOST_TEST(none.segment_bytes() == 4096);
}

BOOST_AUTO_TEST_SUITE_END()
