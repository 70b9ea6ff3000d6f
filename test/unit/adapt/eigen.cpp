// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#if __has_include(<Eigen/Core>)

#include <reshard/adapt/eigen.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/tensor/view.hpp>

#include <boost/test/unit_test.hpp>

#include <concepts>
#include <list>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(adapt_eigen)

namespace {

using row_major = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class Matrix>
Matrix numbered(Eigen::Index rows, Eigen::Index columns) {
    Matrix result(rows, columns);
    for (Eigen::Index row = 0; row < rows; ++row)
        for (Eigen::Index column = 0; column < columns; ++column)
            result(row, column) = static_cast<float>(10 * row + column);
    return result;
}

float element(const_tensor_view const& view, index_vector const& index) {
    return static_cast<float const*>(view.data)[linear_offset(index, view.strides)];
}

} // namespace

BOOST_AUTO_TEST_CASE(dense_objects_are_tensors_and_expressions_are_not) {
    static_assert(tensor<Eigen::MatrixXf> && tensor<Eigen::Matrix3d> && tensor<Eigen::ArrayXXi>);
    static_assert(tensor<Eigen::Map<Eigen::MatrixXf>> && tensor<Eigen::Map<row_major const>>);
    static_assert(tensor<Eigen::Ref<Eigen::MatrixXf>>);
    static_assert(!tensor<decltype(Eigen::MatrixXf() + Eigen::MatrixXf())>);
    static_assert(!tensor<std::list<float>>);
    static_assert(!borrowed_tensor<Eigen::MatrixXf>);
    static_assert(borrowed_tensor<Eigen::Map<Eigen::MatrixXf>>);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(columns_are_contiguous_by_default) {
    auto matrix = numbered<Eigen::MatrixXf>(2, 3);
    tensor_view const seen_view = view(matrix);
    BOOST_TEST((seen_view == tensor_view{matrix.data(), data_type::f32, {2, 3}, {1, 2}}));
    BOOST_TEST(element(seen_view, {1, 2}) == 12);
    static_assert(std::same_as<decltype(view(std::as_const(matrix))), const_tensor_view>);
}

BOOST_AUTO_TEST_CASE(rows_are_contiguous_in_the_other_order) {
    auto matrix = numbered<row_major>(2, 3);
    tensor_view const seen_view = view(matrix);
    BOOST_TEST((seen_view == tensor_view{matrix.data(), data_type::f32, {2, 3}, {3, 1}}));
    BOOST_TEST(element(seen_view, {1, 2}) == 12);
}

BOOST_AUTO_TEST_CASE(vectors_have_one_axis) {
    Eigen::VectorXd column(5);
    BOOST_TEST((view(column) == tensor_view{column.data(), data_type::f64, {5}, {1}}));
    Eigen::RowVector3d row;
    BOOST_TEST((view(row) == tensor_view{row.data(), data_type::f64, {3}, {1}}));
    Eigen::ArrayXi array(4);
    BOOST_TEST((view(array) == tensor_view{array.data(), data_type::i32, {4}, {1}}));
}

BOOST_AUTO_TEST_CASE(a_matrix_of_one_column_keeps_two_axes) {
    Eigen::MatrixXf matrix(5, 1);
    BOOST_TEST((view(matrix).shape == index_vector{5, 1}));
}

BOOST_AUTO_TEST_CASE(a_map_shows_the_callers_elements) {
    std::vector<float> elements(6);
    Eigen::Map<row_major> matrix(elements.data(), 2, 3);
    BOOST_TEST((view(matrix) == tensor_view{elements.data(), data_type::f32, {2, 3}, {3, 1}}));
    Eigen::Map<Eigen::MatrixXf const> constant(elements.data(), 2, 3);
    auto const result = view(constant);
    static_assert(std::same_as<decltype(result), const_tensor_view const>);
    BOOST_TEST((result == const_tensor_view{elements.data(), data_type::f32, {2, 3}, {1, 2}}));
}

BOOST_AUTO_TEST_CASE(a_map_with_strides_keeps_them) {
    std::vector<float> elements(40);
    Eigen::Map<Eigen::MatrixXf, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> matrix(
        elements.data(), 2, 3, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(10, 4));
    BOOST_TEST((view(matrix).strides == index_vector{4, 10}));
    Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<>> vector(elements.data(), 3,
                                                                Eigen::InnerStride<>(7));
    BOOST_TEST((view(vector) == tensor_view{elements.data(), data_type::f32, {3}, {7}}));
}

BOOST_AUTO_TEST_CASE(a_block_lies_in_its_matrix) {
    auto matrix = numbered<Eigen::MatrixXf>(4, 5);
    tensor_view const seen_view = view(matrix.block(1, 2, 2, 3));
    BOOST_TEST((seen_view.shape == index_vector{2, 3}));
    BOOST_TEST((seen_view.strides == index_vector{1, 4}));
    BOOST_TEST(element(seen_view, {1, 2}) == 24);
    tensor_view const row = view(matrix.row(3));
    BOOST_TEST((row.shape == index_vector{5}));
    BOOST_TEST((row.strides == index_vector{4}));
    BOOST_TEST(element(row, {4}) == 34);
}

BOOST_AUTO_TEST_CASE(an_empty_matrix_has_no_elements) {
    Eigen::MatrixXf matrix(0, 3);
    BOOST_TEST((view(matrix).shape == index_vector{0, 3}));
}

BOOST_AUTO_TEST_SUITE_END()

#endif
