// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/adapt/span.hpp>
#include <reshard/tensor/view.hpp>

#include <boost/test/unit_test.hpp>

#include <concepts>
#include <span>
#include <utility>
#include <vector>

using namespace reshard;
using adapt::raw_tensor;

BOOST_AUTO_TEST_SUITE(tensor_view_)

namespace {

template <class T>
concept can_be_viewed = requires(T&& t) { view(std::forward<T>(t)); };

} // namespace

BOOST_AUTO_TEST_CASE(a_view_says_where_and_how_the_elements_lie) {
    float elements[6] = {};
    raw_tensor<float> matrix(elements, {2, 3});
    tensor_view const tensor_view = view(matrix);
    BOOST_TEST(tensor_view.data == elements);
    BOOST_TEST((tensor_view.dtype == data_type::f32));
    BOOST_TEST((tensor_view.shape == index_vector{2, 3}));
    BOOST_TEST((tensor_view.strides == index_vector{3, 1}));
    BOOST_TEST((tensor_view.memory == memory_space::host));
    BOOST_TEST(tensor_view.ndim() == 2u);
}

BOOST_AUTO_TEST_CASE(a_constant_tensor_is_seen_for_reading) {
    std::vector<float> elements(3);
    static_assert(std::same_as<decltype(view(elements)), tensor_view>);
    static_assert(std::same_as<decltype(view(std::as_const(elements))), const_tensor_view>);
    BOOST_TEST(view(std::as_const(elements)).data == elements.data());
}

BOOST_AUTO_TEST_CASE(constant_elements_are_seen_for_reading) {
    float const elements[3] = {};
    std::span<float const> span(elements);
    static_assert(std::same_as<decltype(view(span)), const_tensor_view>);
    BOOST_TEST(view(span).data == elements);
}

BOOST_AUTO_TEST_CASE(a_temporary_that_owns_nothing_is_seen_for_writing) {
    std::vector<float> elements(3);
    static_assert(std::same_as<decltype(view(std::span(elements))), tensor_view>);
    BOOST_TEST(view(std::span(elements)).data == elements.data());
    BOOST_TEST(view(raw_tensor(elements.data(), {3})).data == elements.data());
}

BOOST_AUTO_TEST_CASE(a_temporary_that_owns_its_elements_is_not_seen) {
    static_assert(can_be_viewed<std::vector<float>&>);
    static_assert(can_be_viewed<std::vector<float> const&>);
    static_assert(!can_be_viewed<std::vector<float>>);
    static_assert(!can_be_viewed<std::vector<float> const>);
    static_assert(can_be_viewed<std::span<float>>);
    static_assert(can_be_viewed<std::span<float> const>);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(what_can_be_written_can_be_read_and_not_the_reverse) {
    static_assert(std::convertible_to<tensor_view, const_tensor_view>);
    static_assert(!std::convertible_to<const_tensor_view, tensor_view>);
    float element = 0;
    tensor_view const view{&element, data_type::f32, {}, {}, memory_space::device};
    const_tensor_view const expected{&element, data_type::f32, {}, {}, memory_space::device};
    BOOST_TEST((const_tensor_view(view) == expected));
}

BOOST_AUTO_TEST_CASE(views_print_no_elements) {
    BOOST_TEST(to_string(const_tensor_view{nullptr, data_type::bf16, {4, 6}, {6, 1}}) ==
               "bfloat16 [4, 6] strides [6, 1]");
    BOOST_TEST(
        to_string(const_tensor_view{nullptr, data_type::f32, {}, {}, memory_space::device}) ==
        "float32 [] strides [] on device:0");
}

BOOST_AUTO_TEST_SUITE_END()
