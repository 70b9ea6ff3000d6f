// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/shard_views.hpp>

#include "support/layouts.hpp"
#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(local_shard_views)

namespace {

tensor_view view_of(std::vector<float>& elements) {
    return {elements.data(), data_type::f32, {static_cast<index_t>(elements.size())}, {1}};
}

} // namespace

BOOST_AUTO_TEST_CASE(tensors_are_found_by_shard_in_whatever_order_they_come) {
    std::vector<float> a(2), b(3), other(2);
    state_dict zero, tensors;
    zero.add(part("w", {7}, {{5}, {2}}), view_of(a));
    zero.add(part("w", {7}, {{2}, {3}}), view_of(b));
    tensors.add(part("w", {7}, {{5}, {2}}), view_of(other));
    layout const layout = layout_of(
        {{part("w", {7}, {{2}, {3}}), part("w", {7}, {{5}, {2}})}, {part("w", {7}, {{5}, {2}})}});
    shard_views<tensor_view> views;
    views.add(tensors, layout, 1);
    views.add(zero, layout, 0);
    BOOST_TEST(views.at(0, 0).data == b.data());
    BOOST_TEST(views.at(0, 1).data == a.data());
    BOOST_TEST(views.at(0, 2).data == other.data());
}

BOOST_AUTO_TEST_CASE(one_shard_held_twice_is_two_tensors) {
    std::vector<float> a(2), b(2);
    state_dict tensors;
    tensors.add(part("w", {2}, {{0}, {2}}), view_of(a));
    tensors.add(part("w", {2}, {{0}, {2}}), view_of(b));
    layout const layout = layout_of({tensors.descriptors()});
    shard_views<tensor_view> views;
    views.add(tensors, layout, 0);
    BOOST_TEST(views.at(0, 0).data == a.data());
    BOOST_TEST(views.at(0, 1).data == b.data());
}

BOOST_AUTO_TEST_CASE(flat_ranges_tell_shards_apart) {
    std::vector<float> a(2), b(3);
    state_dict tensors;
    tensors.add(part("w", {5}, {{0}, {5}}, flat_range{0, 2}), view_of(a));
    tensors.add(part("w", {5}, {{0}, {5}}, flat_range{2, 5}), view_of(b));
    layout const layout = layout_of({{part("w", {5}, {{0}, {5}}, flat_range{2, 5}),
                                      part("w", {5}, {{0}, {5}}, flat_range{0, 2})}});
    shard_views<tensor_view> views;
    views.add(tensors, layout, 0);
    BOOST_TEST(views.at(0, 0).data == b.data());
}

BOOST_AUTO_TEST_CASE(a_tensor_that_the_layout_does_not_know_is_refused) {
    std::vector<float> a(2);
    state_dict tensors;
    tensors.add(part("w", {2}, {{0}, {2}}), view_of(a));
    shard_views<tensor_view> views;
    BOOST_CHECK_EXCEPTION(
        views.add(tensors, layout_of({{}, tensors.descriptors()}), 0), error,
        says(errc::bad_layout,
             "rank 0 holds w: float32 [2] [0:2], which the layout does not assign to it"));
    BOOST_CHECK_EXCEPTION(
        views.add(tensors, layout{}, 0), error,
        says(errc::bad_layout,
             "rank 0 holds w: float32 [2] [0:2], which the layout does not assign to it"));
}

BOOST_AUTO_TEST_CASE(shards_without_memory_have_the_view_of_their_shape) {
    shard_views<const_tensor_view> views;
    views.add_shape(0, 0, data_type::f32, {2, 3});
    views.add_shape(0, 1, data_type::f32, {3, 2});
    views.add_shape(1, 0, data_type::u8, {2, 3});
    views.add_shape(2, 0, data_type::f32, {2, 3});
    views.add_shape(3, 0, data_type::f32, {});
    BOOST_TEST((views.at(0, 0) == const_tensor_view{nullptr, data_type::f32, {2, 3}, {3, 1}}));
    BOOST_TEST((views.at(0, 1) == const_tensor_view{nullptr, data_type::f32, {3, 2}, {2, 1}}));
    BOOST_TEST((views.at(1, 0) == const_tensor_view{nullptr, data_type::u8, {2, 3}, {3, 1}}));
    BOOST_TEST(&views.at(2, 0) == &views.at(0, 0));
    BOOST_TEST((views.at(3, 0) == const_tensor_view{nullptr, data_type::f32, {}, {}}));
    BOOST_TEST(!views.contains(2, 1));
}

BOOST_AUTO_TEST_SUITE_END()
