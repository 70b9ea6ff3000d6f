// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#if __has_include(<armadillo>)

#include <reshard/adapt/armadillo.hpp>

#include <reshard/core/index_vector.hpp>
#include <reshard/testing/check_adapter.hpp>

#include <boost/test/unit_test.hpp>

#include <list>

using namespace reshard;

namespace {

arma::uword uword(index_t number) { return static_cast<arma::uword>(number); }

template <class T>
auto& arma_element(T& t, index_vector const& i) {
    if constexpr (requires { t.n_slices; })
        return t.at(uword(i[0]), uword(i[1]), uword(i[2]));
    else if constexpr (T::is_col || T::is_row)
        return t.at(uword(i[0]));
    else
        return t.at(uword(i[0]), uword(i[1]));
}

template <class T>
testing::adapter_case<T> of_arma(std::size_t ndim, auto make) {
    return {.make = make,
            .write =
                [](T& t, index_vector const& i, int number) {
                    arma_element(t, i) = static_cast<typename T::elem_type>(number);
                },
            .read = [](T const& t,
                       index_vector const& i) { return static_cast<int>(arma_element(t, i)); },
            .ndims = {ndim}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(adapt_armadillo)

BOOST_AUTO_TEST_CASE(vectors_matrices_and_cubes_keep_the_laws) {
    testing::check_adapter(of_arma<arma::vec>(
        1, [](index_vector const& s, data_type) { return arma::vec(uword(s[0])); }));
    testing::check_adapter(of_arma<arma::frowvec>(
        1, [](index_vector const& s, data_type) { return arma::frowvec(uword(s[0])); }));
    testing::check_adapter(of_arma<arma::fmat>(
        2, [](index_vector const& s, data_type) { return arma::fmat(uword(s[0]), uword(s[1])); }));
    testing::check_adapter(of_arma<arma::cube>(3, [](index_vector const& s, data_type) {
        return arma::cube(uword(s[0]), uword(s[1]), uword(s[2]));
    }));
    static_assert(tensor<arma::mat::fixed<2, 3>> && tensor<arma::cx_fmat> && tensor<arma::cx_mat>);
    static_assert(!tensor<arma::sp_mat> && !tensor<std::list<float>>);
    static_assert(!tensor<decltype(arma::mat() + arma::mat())>);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(columns_are_made_of_rows) {
    arma::mat const matrix{{0, 1, 2, 3}, {4, 5, 6, 7}};
    arma::mat right(2, 2);
    const_state_dict have;
    state_dict want;
    have.add(replicated("w", data_type::f64, {2, 4}), matrix);
    want.add(equal_shares("w", data_type::f64, {2, 2}, {{1, 1, 2}}), right);
    redistribute(solo{}, have, want);
    BOOST_TEST(arma::all(arma::all(right == arma::mat{{2, 3}, {6, 7}})));
}

BOOST_AUTO_TEST_CASE(columns_are_contiguous) {
    arma::mat matrix(2, 3);
    BOOST_TEST((view(matrix) == tensor_view{matrix.memptr(), data_type::f64, {2, 3}, {1, 2}}));
    arma::fcube cube(2, 3, 4);
    BOOST_TEST((view(cube).strides == index_vector{1, 2, 6}));
    arma::mat::fixed<2, 3> fixed;
    BOOST_TEST((view(fixed).strides == index_vector{1, 2}));
}

BOOST_AUTO_TEST_CASE(parts_lie_in_their_matrix) {
    arma::mat matrix(4, 5);
    auto part = matrix.submat(1, 2, 2, 4);
    BOOST_TEST((view(part) == tensor_view{&matrix(1, 2), data_type::f64, {2, 3}, {1, 4}}));
    auto column = matrix.col(3);
    BOOST_TEST((view(column) == tensor_view{&matrix(0, 3), data_type::f64, {4}, {1}}));
    auto row = matrix.row(3);
    BOOST_TEST((view(row) == tensor_view{&matrix(3, 0), data_type::f64, {5}, {4}}));
    static_assert(borrowed_tensor<decltype(part)> && borrowed_tensor<decltype(row)>);
    arma::cube cube(3, 4, 5);
    auto inner = cube.subcube(1, 1, 1, 2, 3, 2);
    BOOST_TEST((view(inner) == tensor_view{&cube(1, 1, 1), data_type::f64, {2, 3, 2}, {1, 3, 12}}));
}

BOOST_AUTO_TEST_SUITE_END()

#endif
