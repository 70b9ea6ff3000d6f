// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/descriptor.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_descriptor_)

BOOST_AUTO_TEST_CASE(a_box_shard_is_held_in_a_tensor_of_its_shape) {
    shard_descriptor const part{"w", data_type::f32, {4, 6}, {{2, 0}, {2, 6}}, {}};
    BOOST_TEST((local_shape(part) == index_vector{2, 6}));
    BOOST_TEST((boxes_of(part.region, part.flat) == std::vector<box>{{{2, 0}, {2, 6}}}));
    check(part);
}

BOOST_AUTO_TEST_CASE(a_flat_shard_is_held_in_one_axis) {
    shard_descriptor const part{"w", data_type::f32, {4, 6}, {{2, 0}, {2, 6}}, flat_range{4, 10}};
    BOOST_TEST((local_shape(part) == index_vector{6}));
    check(part);
    // Elements 4 to 9 of a 2 x 6 box whose first row is row 2 of the tensor.
    BOOST_TEST(
        (boxes_of(part.region, part.flat) == std::vector<box>{{{2, 4}, {1, 2}}, {{3, 0}, {1, 4}}}));
}

BOOST_AUTO_TEST_CASE(a_flat_range_of_no_element_is_no_box) {
    BOOST_TEST(boxes_of({{0}, {5}}, flat_range{3, 3}).empty());
    check({"w", data_type::f32, {5}, {{0}, {5}}, flat_range{3, 3}});
    check({"w", data_type::f32, {0, 5}, {{0, 0}, {0, 5}}, flat_range{0, 0}});
}

BOOST_AUTO_TEST_CASE(a_scalar_has_one_element_flat_or_not) {
    shard_descriptor const part{"s", data_type::i64, {}, {}, {}};
    check(part);
    BOOST_TEST(local_shape(part).empty());
    shard_descriptor const flat{"s", data_type::i64, {}, {}, flat_range{0, 1}};
    check(flat);
    BOOST_TEST((boxes_of(flat.region, flat.flat) == std::vector<box>{{}}));
}

BOOST_AUTO_TEST_CASE(empty_shards_may_stand_at_the_end) {
    check({"w", data_type::f32, {4, 6}, {{4, 0}, {0, 6}}, {}});
    check({"w", data_type::f32, {0}, {{0}, {0}}, {}});
}

BOOST_AUTO_TEST_CASE(shards_print_as_one_line) {
    BOOST_TEST(to_string(shard_descriptor{"w", data_type::bf16, {4, 6}, {{2, 0}, {2, 6}}, {}}) ==
               "w: bfloat16 [4, 6] [2:4, 0:6]");
    BOOST_TEST(to_string(shard_descriptor{"s", data_type::i64, {}, {}, flat_range{0, 1}}) ==
               "s: int64 [] [] flat 0:1");
}

BOOST_AUTO_TEST_CASE(shards_that_leave_their_tensor_are_refused) {
    BOOST_CHECK_EXCEPTION(
        check({"w", data_type::f32, {4, 6}, {{0, 4}, {4, 3}}, {}}), error,
        says(errc::bad_layout,
             "'w': axis 1: a shard of 3 elements at offset 4 exceeds the global extent 6"));
    BOOST_CHECK_EXCEPTION(
        check({"w", data_type::f32, {4}, {{-1}, {2}}, {}}), error,
        says(errc::bad_layout,
             "'w': axis 0: a shard of 2 elements at offset -1 exceeds the global extent 4"));
    BOOST_CHECK_EXCEPTION(
        check({"w", data_type::f32, {4}, {{5}, {0}}, {}}), error,
        says(errc::bad_layout,
             "'w': axis 0: a shard of 0 elements at offset 5 exceeds the global extent 4"));
    // An end beyond 64 bits must not wrap around.
    constexpr index_t huge = 9223372036854775807;
    BOOST_CHECK_EXCEPTION(check({"w", data_type::f32, {4}, {{2}, {huge}}, {}}), error,
                          says(errc::bad_layout,
                               "'w': axis 0: a shard of 9223372036854775807 elements at offset 2 "
                               "exceeds the global extent 4"));
}

BOOST_AUTO_TEST_CASE(shards_of_another_number_of_axes_are_refused) {
    BOOST_CHECK_EXCEPTION(check({"w", data_type::f32, {4, 6}, {{0}, {4}}, {}}), error,
                          says(errc::bad_layout,
                               "'w': a shard of shape [4] at offset [0] does not have the number "
                               "of axes of the global shape [4, 6]"));
    BOOST_CHECK_EXCEPTION(check({"w", data_type::f32, {4, 6}, {{0}, {4, 6}}, {}}), error,
                          says(errc::bad_layout,
                               "'w': a shard of shape [4, 6] at offset [0] does not have the "
                               "number of axes of the global shape [4, 6]"));
}

BOOST_AUTO_TEST_CASE(shards_without_a_key_are_refused) {
    BOOST_CHECK_EXCEPTION(check({"", data_type::f32, {4}, {{0}, {4}}, {}}), error,
                          says(errc::bad_layout, "a shard of shape [4] has no key"));
}

BOOST_AUTO_TEST_CASE(flat_ranges_that_leave_the_region_are_refused) {
    BOOST_CHECK_EXCEPTION(
        check({"w", data_type::f32, {4, 6}, {{2, 0}, {2, 6}}, flat_range{4, 13}}), error,
        says(errc::bad_layout, "'w': flat range 4:13 exceeds a region of 12 elements"));
    BOOST_CHECK_EXCEPTION(
        check({"w", data_type::f32, {4}, {{0}, {4}}, flat_range{3, 2}}), error,
        says(errc::bad_layout, "'w': flat range 3:2 exceeds a region of 4 elements"));
    BOOST_CHECK_EXCEPTION(
        check({"w", data_type::f32, {4}, {{0}, {4}}, flat_range{-1, 2}}), error,
        says(errc::bad_layout, "'w': flat range -1:2 exceeds a region of 4 elements"));
}

BOOST_AUTO_TEST_CASE(tensors_beyond_64_bits_are_refused) {
    constexpr index_t large = index_t{1} << 32;
    BOOST_CHECK_EXCEPTION(
        check({"w", data_type::f32, {large, large}, {{0, 0}, {1, 1}}, {}}), error,
        says(errc::overflow,
             "'w': a tensor of shape [4294967296, 4294967296] with 32 bits per element (float32) "
             "has more than 9223372036854775807 bits; its shape must be smaller"));
    check({"w", data_type::f32, {large, large, 0}, {{0, 0, 0}, {1, 1, 0}}, {}});
    // 2^58 elements of 32 bits are 2^63 bits.
    constexpr index_t most = (index_t{1} << 58) - 1;
    check({"w", data_type::f32, {most}, {{0}, {1}}, {}});
    BOOST_CHECK_EXCEPTION(
        check({"w", data_type::f32, {most + 1}, {{0}, {1}}, {}}), error,
        says(errc::overflow,
             "'w': a tensor of shape [288230376151711744] with 32 bits per element (float32) has "
             "more than 9223372036854775807 bits; its shape must be smaller"));
}

BOOST_AUTO_TEST_SUITE_END()
