// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/span.hpp>
#include <reshard/tensor/view.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(adapt_span)

BOOST_AUTO_TEST_CASE(a_vector_is_a_tensor_of_one_axis) {
    std::vector<std::int32_t> elements(5);
    BOOST_TEST((view(elements) == tensor_view{elements.data(), data_type::i32, {5}, {1}}));
}

BOOST_AUTO_TEST_CASE(a_span_is_a_tensor_of_one_axis) {
    float elements[7];
    BOOST_TEST((view(std::span(elements, 3)) == tensor_view{elements, data_type::f32, {3}, {1}}));
    std::span<float, 7> fixed(elements);
    BOOST_TEST((view(fixed) == tensor_view{elements, data_type::f32, {7}, {1}}));
}

BOOST_AUTO_TEST_CASE(an_empty_vector_has_extent_zero) {
    std::vector<float> none;
    BOOST_TEST((view(none).shape == index_vector{0}));
}

BOOST_AUTO_TEST_CASE(what_has_no_addresses_or_no_data_type_is_no_tensor) {
    BOOST_TEST(tensor<std::vector<float>>);
    BOOST_TEST(!tensor<std::vector<bool>>);
    BOOST_TEST(!tensor<std::vector<std::string>>);
    BOOST_TEST(tensor<std::span<float const>>);
    BOOST_TEST(!borrowed_tensor<std::vector<float>>);
    BOOST_TEST(borrowed_tensor<std::span<float>>);
}

BOOST_AUTO_TEST_SUITE_END()
