// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#if __has_include(<xtensor/xarray.hpp>)

#include <reshard/adapt/xtensor.hpp>

#include <reshard/core/index_vector.hpp>
#include <reshard/testing/check_adapter.hpp>

#include <xtensor/xadapt.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <list>
#include <vector>

using namespace reshard;

namespace {

std::vector<std::size_t> extents(index_vector const& numbers) {
    return {numbers.begin(), numbers.end()};
}

template <class T>
testing::adapter_case<T> of_xtensors(auto make) {
    return {.make = make,
            .write =
                [](T& t, index_vector const& i, int number) {
                    auto const index = extents(i);
                    t.element(index.begin(), index.end()) =
                        static_cast<typename T::value_type>(number);
                },
            .read =
                [](T const& t, index_vector const& i) {
                    auto const index = extents(i);
                    return static_cast<int>(t.element(index.begin(), index.end()));
                }};
}

} // namespace

BOOST_AUTO_TEST_SUITE(adapt_xtensor)

BOOST_AUTO_TEST_CASE(arrays_of_any_shape_keep_the_laws) {
    using rows = xt::xarray<float>;
    using columns = xt::xarray<std::int32_t, xt::layout_type::column_major>;
    testing::check_adapter(of_xtensors<rows>([](index_vector const& shape, data_type) {
        return rows(rows::shape_type(shape.begin(), shape.end()));
    }));
    testing::check_adapter(of_xtensors<columns>([](index_vector const& shape, data_type) {
        return columns(columns::shape_type(shape.begin(), shape.end()));
    }));
    static_assert(!borrowed_tensor<rows> && !tensor<std::list<float>>);
    static_assert(!tensor<decltype(rows() + rows())>);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(tensors_of_so_many_axes_keep_the_laws) {
    using matrix = xt::xtensor<double, 2>;
    auto options = of_xtensors<matrix>([](index_vector const& shape, data_type) {
        return matrix({std::size_t(shape[0]), std::size_t(shape[1])});
    });
    options.ndims = {2};
    testing::check_adapter(options);
    xt::xtensor_fixed<float, xt::xshape<2, 3>> fixed;
    BOOST_TEST((reshard::view(fixed) == tensor_view{fixed.data(), data_type::f32, {2, 3}, {3, 1}}));
}

BOOST_AUTO_TEST_CASE(an_adaptor_of_a_pointer_shows_the_callers_elements) {
    std::vector<float> elements(6);
    std::vector<std::size_t> const shape{2, 3};
    auto matrix = xt::adapt(elements.data(), 6, xt::no_ownership(), shape);
    BOOST_TEST(
        (reshard::view(matrix) == tensor_view{elements.data(), data_type::f32, {2, 3}, {3, 1}}));
    static_assert(borrowed_tensor<decltype(matrix)>);
    auto of_vector = xt::adapt(elements, shape);
    BOOST_TEST(
        (reshard::view(of_vector) == tensor_view{elements.data(), data_type::f32, {2, 3}, {3, 1}}));
    static_assert(borrowed_tensor<decltype(of_vector)>);
    auto owner = xt::adapt(std::vector<float>(6), shape);
    static_assert(!borrowed_tensor<decltype(owner)>);
}

BOOST_AUTO_TEST_CASE(columns_are_made_of_rows) {
    xt::xarray<float> matrix{{0, 1, 2, 3}, {4, 5, 6, 7}};
    xt::xtensor<float, 2> right = xt::zeros<float>({2, 2});
    const_state_dict have;
    state_dict want;
    have.add(replicated("w", data_type::f32, {2, 4}), matrix);
    want.add(equal_shares("w", data_type::f32, {2, 2}, {{1, 1, 2}}), right);
    redistribute(solo{}, have, want);
    BOOST_TEST((right == xt::xtensor<float, 2>{{2, 3}, {6, 7}}));
}

BOOST_AUTO_TEST_CASE(a_view_lies_in_its_array) {
    xt::xarray<float> array = xt::xarray<float>::from_shape({4, 6});
    auto part = xt::view(array, xt::range(1, 3), xt::range(0, 6, 2));
    tensor_view const view = reshard::view(part);
    BOOST_TEST((view == tensor_view{&array(1, 0), data_type::f32, {2, 3}, {6, 2}}));
    static_assert(borrowed_tensor<decltype(part)>);
    auto strided = xt::strided_view(array, {3, xt::range(5, xt::placeholders::_, -2)});
    BOOST_TEST((reshard::view(strided) == tensor_view{&array(3, 5), data_type::f32, {3}, {-2}}));
    auto const turned = xt::transpose(array);
    BOOST_TEST((reshard::view(turned).strides == index_vector{1, 6}));
    xt::xarray<float> const constant = array;
    auto of_constant = xt::view(constant, 2, xt::all());
    auto const read = reshard::view(of_constant);
    BOOST_TEST((read == const_tensor_view{&constant(2, 0), data_type::f32, {6}, {1}}));
    auto owner = xt::view(xt::xarray<float>(array), 2, xt::all());
    static_assert(!borrowed_tensor<decltype(owner)>);
}

BOOST_AUTO_TEST_SUITE_END()

#endif
