// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#if __has_include(<unsupported/Eigen/CXX11/Tensor>)

#include <reshard/adapt/eigen_tensor.hpp>

#include <reshard/testing/check_adapter.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <list>
#include <vector>

using namespace reshard;

namespace {

template <int N, int Order>
using eigen_box = Eigen::Tensor<float, N, Order>;

template <int N>
std::array<Eigen::Index, std::size_t{N}> eigen_index(index_vector const& numbers) {
    std::array<Eigen::Index, std::size_t{N}> result{};
    std::copy(numbers.begin(), numbers.end(), result.begin());
    return result;
}

template <int N>
auto& element(auto& t, index_vector const& index) {
    if constexpr (N == 0)
        return t();
    else
        return t(eigen_index<N>(index));
}

template <int N, int Order>
void check_eigen_tensor() {
    using box_type = eigen_box<N, Order>;
    testing::check_adapter<box_type>(
        {.make = [](index_vector const& shape,
                    data_type) { return box_type(eigen_index<N>(shape)); },
         .write = [](box_type& t, index_vector const& i,
                     int number) { element<N>(t, i) = static_cast<float>(number); },
         .read = [](box_type const& t,
                    index_vector const& i) { return static_cast<int>(element<N>(t, i)); },
         .ndims = {std::size_t{N}}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(adapt_eigen_tensor)

BOOST_AUTO_TEST_CASE(tensors_of_both_orders_keep_the_laws) {
    check_eigen_tensor<0, Eigen::ColMajor>();
    check_eigen_tensor<1, Eigen::ColMajor>();
    check_eigen_tensor<3, Eigen::ColMajor>();
    check_eigen_tensor<4, Eigen::RowMajor>();
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(a_cube_is_cut_in_two) {
    Eigen::Tensor<float, 3> value(4, 2, 2), second(2, 2, 2);
    value.setZero();
    value(3, 1, 0) = 7;
    state_dict have, want;
    have.add(replicated("w", data_type::f32, {4, 2, 2}), value);
    want.add(equal_shares("w", data_type::f32, {2, 2, 2}, {{0, 1, 2}}), second);
    redistribute(solo{}, have, want);
    BOOST_TEST(second(1, 1, 0) == 7);
}

BOOST_AUTO_TEST_CASE(the_first_axis_is_contiguous_by_default) {
    Eigen::Tensor<double, 3> columns(2, 3, 4);
    BOOST_TEST(
        (view(columns) == tensor_view{columns.data(), data_type::f64, {2, 3, 4}, {1, 2, 6}}));
    Eigen::Tensor<double, 3, Eigen::RowMajor> rows(2, 3, 4);
    BOOST_TEST((view(rows).strides == index_vector{12, 4, 1}));
    Eigen::TensorFixedSize<float, Eigen::Sizes<2, 5>> fixed;
    BOOST_TEST((view(fixed) == tensor_view{fixed.data(), data_type::f32, {2, 5}, {1, 2}}));
}

BOOST_AUTO_TEST_CASE(a_map_shows_the_callers_elements) {
    std::vector<float> elements(6);
    Eigen::TensorMap<Eigen::Tensor<float, 2>> map(elements.data(), 2, 3);
    BOOST_TEST((view(map) == tensor_view{elements.data(), data_type::f32, {2, 3}, {1, 2}}));
    static_assert(borrowed_tensor<decltype(map)>);
    Eigen::TensorMap<Eigen::Tensor<float const, 2>> constant(elements.data(), 2, 3);
    auto const result = view(constant);
    BOOST_TEST((result == const_tensor_view{elements.data(), data_type::f32, {2, 3}, {1, 2}}));
}

BOOST_AUTO_TEST_CASE(an_expression_is_no_tensor) {
    using tensor_type = Eigen::Tensor<float, 2>;
    static_assert(!tensor<decltype(tensor_type() + tensor_type())>);
    static_assert(!borrowed_tensor<tensor_type> && !tensor<std::list<float>>);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_SUITE_END()

#endif
