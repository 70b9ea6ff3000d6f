// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/ublas.hpp>

#include <reshard/core/index_vector.hpp>
#include <reshard/testing/check_adapter.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <list>

using namespace reshard;
namespace ublas = boost::numeric::ublas;

namespace {

std::size_t extent(index_vector const& numbers, std::size_t axis) {
    return static_cast<std::size_t>(numbers[axis]);
}

template <class Matrix>
testing::adapter_case<Matrix> of_matrices(auto make) {
    return {.make = make,
            .write = [](Matrix& t, index_vector const& i,
                        int number) { t(extent(i, 0), extent(i, 1)) = number; },
            .read = [](Matrix const& t,
                       index_vector const& i) { return int(t(extent(i, 0), extent(i, 1))); },
            .ndims = {2}};
}

template <class Vector>
testing::adapter_case<Vector> of_vectors(auto make) {
    return {.make = make,
            .write = [](Vector& t, index_vector const& i, int number) { t(extent(i, 0)) = number; },
            .read = [](Vector const& t, index_vector const& i) { return int(t(extent(i, 0))); },
            .ndims = {1}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(adapt_ublas)

BOOST_AUTO_TEST_CASE(vectors_and_matrices_of_both_orders_keep_the_laws) {
    using vector = ublas::vector<double>;
    using rows = ublas::matrix<double>;
    using columns = ublas::matrix<double, ublas::column_major>;
    auto const matrix = []<class Matrix>(index_vector const& shape) {
        return Matrix(extent(shape, 0), extent(shape, 1));
    };
    testing::check_adapter(of_vectors<vector>(
        [](index_vector const& shape, data_type) { return vector(extent(shape, 0)); }));
    testing::check_adapter(of_matrices<rows>(
        [&](index_vector const& shape, data_type) { return matrix.operator()<rows>(shape); }));
    testing::check_adapter(of_matrices<columns>(
        [&](index_vector const& shape, data_type) { return matrix.operator()<columns>(shape); }));
    static_assert(tensor<ublas::bounded_vector<float, 4>>);
    static_assert(tensor<ublas::bounded_matrix<float, 4, 4>>);
    static_assert(!borrowed_tensor<rows> && !tensor<std::list<float>>);
    static_assert(!tensor<decltype(rows() + rows())>);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(rows_go_into_a_range_of_columns) {
    ublas::matrix<double> rows(2, 3, 5.0);
    ublas::matrix<double, ublas::column_major> columns(4, 4, 0.0);
    state_dict have, want;
    have.add(replicated("w", data_type::f64, {2, 3}), rows);
    want.add(replicated("w", data_type::f64, {2, 3}), ublas::subrange(columns, 1, 3, 1, 4));
    redistribute(solo{}, have, want);
    BOOST_TEST(columns(2, 3) == 5);
    BOOST_TEST(columns(0, 3) == 0);
}

BOOST_AUTO_TEST_CASE(ranges_lie_in_their_vector_or_matrix) {
    ublas::vector<double> vector(20);
    using part_of_vector = ublas::vector_range<ublas::vector<double>>;
    testing::check_adapter(of_vectors<part_of_vector>([&](index_vector const& shape, data_type) {
        return part_of_vector(vector, ublas::range(3, 3 + extent(shape, 0)));
    }));
    ublas::matrix<double> matrix(10, 10);
    using part_of_matrix = ublas::matrix_range<ublas::matrix<double>>;
    testing::check_adapter(of_matrices<part_of_matrix>([&](index_vector const& shape, data_type) {
        return part_of_matrix(matrix, ublas::range(1, 1 + extent(shape, 0)),
                              ublas::range(2, 2 + extent(shape, 1)));
    }));
    ublas::matrix<double, ublas::column_major> columns(10, 10);
    BOOST_TEST((view(ublas::subrange(columns, 1, 3, 4, 9)) ==
                tensor_view{&columns(1, 4), data_type::f64, {2, 5}, {1, 10}}));
}

BOOST_AUTO_TEST_CASE(a_range_of_a_constant_matrix_is_read_only) {
    ublas::matrix<double> const matrix(4, 5, 1.0);
    auto part = ublas::subrange(matrix, 1, 3, 2, 5);
    auto const result = view(part);
    BOOST_TEST((result == const_tensor_view{&matrix(1, 2), data_type::f64, {2, 3}, {5, 1}}));
}

BOOST_AUTO_TEST_SUITE_END()
