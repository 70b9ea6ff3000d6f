// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/multi_array.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/tensor/view.hpp>

#include <boost/test/unit_test.hpp>

#include <concepts>
#include <list>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(adapt_multi_array)

namespace {

using array = boost::multi_array<float, 2>;

/// Each element is its row times ten plus its column, both counted from zero in the tensor.
template <class Array>
void number(Array& elements) {
    for (std::size_t row = 0; row < elements.shape()[0]; ++row)
        for (std::size_t column = 0; column < elements.shape()[1]; ++column)
            elements[elements.index_bases()[0] + static_cast<std::ptrdiff_t>(row)]
                    [elements.index_bases()[1] + static_cast<std::ptrdiff_t>(column)] =
                        static_cast<float>(10 * row + column);
}

float element(const_tensor_view const& view, index_vector const& index) {
    return static_cast<float const*>(view.data)[linear_offset(index, view.strides)];
}

} // namespace

BOOST_AUTO_TEST_CASE(arrays_references_and_constant_references_are_tensors) {
    static_assert(tensor<array> && tensor<boost::multi_array_ref<float, 3>>);
    static_assert(tensor<boost::const_multi_array_ref<float, 3>>);
    static_assert(!borrowed_tensor<array> && borrowed_tensor<boost::multi_array_ref<float, 3>>);
    static_assert(!tensor<std::list<float>>);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(an_array_is_in_row_major_order) {
    array elements(boost::extents[2][3]);
    tensor_view const expected{elements.data(), data_type::f32, {2, 3}, {3, 1}};
    BOOST_TEST((view(elements) == expected));
    static_assert(std::same_as<decltype(view(std::as_const(elements))), const_tensor_view>);
}

BOOST_AUTO_TEST_CASE(fortran_order_has_other_strides) {
    array elements(boost::extents[2][3], boost::fortran_storage_order());
    number(elements);
    tensor_view const tensor_view = view(elements);
    BOOST_TEST((tensor_view.strides == index_vector{1, 2}));
    BOOST_TEST(element(tensor_view, {1, 2}) == 12);
}

BOOST_AUTO_TEST_CASE(index_bases_do_not_move_the_elements) {
    array elements(boost::extents[boost::multi_array_types::extent_range(5, 7)]
                                 [boost::multi_array_types::extent_range(-1, 2)]);
    number(elements);
    tensor_view const tensor_view = view(elements);
    BOOST_TEST(tensor_view.data == elements.data());
    BOOST_TEST(element(tensor_view, {0, 0}) == 0);
    BOOST_TEST(element(tensor_view, {1, 2}) == 12);
}

BOOST_AUTO_TEST_CASE(descending_storage_has_negative_strides) {
    std::size_t const order[] = {1, 0};
    bool const ascending[] = {false, true};
    array elements(boost::extents[2][3], boost::general_storage_order<2>(order, ascending));
    number(elements);
    tensor_view const tensor_view = view(elements);
    BOOST_TEST((tensor_view.strides == index_vector{-3, 1}));
    BOOST_TEST(element(tensor_view, {0, 0}) == 0);
    BOOST_TEST(element(tensor_view, {1, 2}) == 12);
}

BOOST_AUTO_TEST_CASE(a_reference_shows_the_callers_elements) {
    std::vector<double> elements(6);
    boost::multi_array_ref<double, 2> matrix(elements.data(), boost::extents[3][2]);
    BOOST_TEST((view(matrix) == tensor_view{elements.data(), data_type::f64, {3, 2}, {2, 1}}));
    boost::const_multi_array_ref<double, 2> constant(elements.data(), boost::extents[3][2]);
    auto const result = view(constant);
    static_assert(std::same_as<decltype(result), const_tensor_view const>);
    BOOST_TEST((result == const_tensor_view{elements.data(), data_type::f64, {3, 2}, {2, 1}}));
}

BOOST_AUTO_TEST_CASE(a_view_of_an_array_keeps_its_strides) {
    using range = boost::multi_array_types::index_range;
    array elements(boost::extents[4][6]);
    number(elements);
    auto every_other = elements[boost::indices[range(1, 3)][range(0, 6, 2)]];
    tensor_view const seen_view = view(every_other);
    BOOST_TEST((seen_view.shape == index_vector{2, 3}));
    BOOST_TEST((seen_view.strides == index_vector{6, 2}));
    BOOST_TEST(element(seen_view, {1, 2}) == 24);
    tensor_view const row = view(elements[3]);
    BOOST_TEST((row.shape == index_vector{6}));
    BOOST_TEST(element(row, {5}) == 35);
}

BOOST_AUTO_TEST_SUITE_END()
