// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/tensor/view.hpp>

#include <boost/test/unit_test.hpp>

#include <concepts>

using namespace reshard;
using adapt::raw_tensor;

BOOST_AUTO_TEST_SUITE(adapt_raw_tensor)

BOOST_AUTO_TEST_CASE(a_pointer_and_a_shape_lie_in_row_major_order) {
    static_assert(tensor<raw_tensor<float>> && tensor<raw_tensor<bfloat16 const>>);
    bfloat16 elements[24];
    tensor_view const seen_view = view(raw_tensor(elements, {2, 3, 4}));
    BOOST_TEST((seen_view == tensor_view{elements, data_type::bf16, {2, 3, 4}, {12, 4, 1}}));
}

BOOST_AUTO_TEST_CASE(strides_may_be_given) {
    double elements[6];
    tensor_view const seen_view = view(raw_tensor(elements + 5, {2, 3}, {-1, -2}));
    BOOST_TEST((seen_view == tensor_view{elements + 5, data_type::f64, {2, 3}, {-1, -2}}));
}

BOOST_AUTO_TEST_CASE(a_scalar_has_no_axes) {
    std::int64_t step = 7;
    BOOST_TEST((view(raw_tensor(&step, {})) == tensor_view{&step, data_type::i64, {}, {}}));
}

BOOST_AUTO_TEST_CASE(constant_elements_stay_constant) {
    float const elements[2] = {};
    auto const result = view(raw_tensor(elements, {2}));
    static_assert(std::same_as<decltype(result), const_tensor_view const>);
    BOOST_TEST((result == const_tensor_view{elements, data_type::f32, {2}, {1}}));
}

BOOST_AUTO_TEST_SUITE_END()
