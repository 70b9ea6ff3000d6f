// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/mdspan.hpp>

#include "support/says.hpp"

#include <reshard/core/index_vector.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/testing/check_adapter.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>
#include <version>

#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif
#if __has_include(<cuda/std/mdspan>)
#include <cuda/std/array>
#include <cuda/std/mdspan>
#endif

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

namespace {

/// An mdspan as the standard describes it ([mdspan.mdspan]), as far as the adapter looks at it.
template <class Element, std::size_t Rank, bool HasStrides = true>
struct stand_in {
    using element_type = Element;
    using rank_type = std::size_t;
    using extents_type = std::array<long, Rank>;
    using mapping_type = std::array<long, Rank>;
    using accessor_type = void;
    using data_handle_type = Element*;
    using reference = Element&;

    Element* first = nullptr;
    extents_type extents{};
    mapping_type steps{};

    static constexpr rank_type rank() noexcept { return Rank; }
    long extent(rank_type axis) const { return extents[axis]; }
    long stride(rank_type axis) const
        requires(Rank > 0)
    {
        return steps[axis];
    }
    bool is_strided() const { return HasStrides; }
    Element* data_handle() const { return first; }
};

/// An array without a memory space is one; with it, it is a view of Kokkos.
struct with_memory_space : stand_in<float, 1> {
    using memory_space = void;
};

/// Each element twice the one in memory, as `std::linalg::scaled` shows it.
struct doubled : stand_in<float const, 1> {
    using reference = float;
};

/// Elements for the mdspans of a test, which own none.
std::vector<float> elements(1000);

template <std::size_t Rank>
stand_in<float, Rank> strided(index_vector const& shape, index_vector const& strides) {
    stand_in<float, Rank> result;
    result.first = elements.data();
    for (std::size_t axis = 0; axis < Rank; ++axis) {
        result.extents[axis] = shape[axis];
        result.steps[axis] = strides[axis];
    }
    return result;
}

template <std::size_t Rank>
float& mdspan_element(stand_in<float, Rank> const& t, index_vector const& index) {
    long offset = 0;
    for (std::size_t axis = 0; axis < Rank; ++axis)
        offset += index[axis] * t.steps[axis];
    return t.first[offset];
}

template <std::size_t Rank>
void check_stand_in(auto const& steps) {
    using mdspan = stand_in<float, Rank>;
    testing::check_adapter<mdspan>(
        {.make = [&](index_vector const& shape,
                     data_type) { return strided<Rank>(shape, steps(shape)); },
         .write = [](mdspan& t, index_vector const& i,
                     int number) { mdspan_element(t, i) = static_cast<float>(number); },
         .read = [](mdspan const& t,
                    index_vector const& i) { return static_cast<int>(mdspan_element(t, i)); },
         .ndims = {Rank}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(adapt_mdspan)

BOOST_AUTO_TEST_CASE(an_mdspan_keeps_the_laws) {
    check_stand_in<0>(row_major_strides);
    check_stand_in<1>(row_major_strides);
    check_stand_in<2>(row_major_strides);
    check_stand_in<5>(row_major_strides);
    check_stand_in<8>(row_major_strides);
    check_stand_in<2>([](index_vector const& shape) { return index_vector{1, shape[0] + 3}; });
    static_assert(borrowed_tensor<stand_in<float, 2>> && borrowed_tensor<stand_in<float const, 2>>);
    static_assert(!tensor<with_memory_space> && !tensor<doubled> &&
                  !tensor<std::vector<std::string>>);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(constant_elements_stay_constant) {
    stand_in<float const, 1> row;
    row.first = elements.data();
    row.extents = {3};
    row.steps = {2};
    auto const result = view(row);
    BOOST_TEST((result == const_tensor_view{elements.data(), data_type::f32, {3}, {2}}));
}

BOOST_AUTO_TEST_CASE(a_layout_without_strides_is_refused_with_the_key) {
    stand_in<float, 2, false> tiles;
    tiles.first = elements.data();
    tiles.extents = {2, 2};
    state_dict want;
    want.add(replicated("w", data_type::f32, {2, 2}), tiles);
    BOOST_CHECK_EXCEPTION(want.check(), error,
                          says(errc::unsupported,
                               "'w': an mdspan of 2 axes whose layout has no strides; copy it into "
                               "one with layout_right"));
}

#ifdef __cpp_lib_mdspan
BOOST_AUTO_TEST_CASE(the_standard_one_is_a_tensor) {
    std::mdspan matrix(elements.data(), 2, 3);
    BOOST_TEST((view(matrix) == tensor_view{elements.data(), data_type::f32, {2, 3}, {3, 1}}));
}
#endif

#if __has_include(<cuda/std/mdspan>)
BOOST_AUTO_TEST_CASE(the_one_of_cccl_keeps_the_laws) {
    namespace md = cuda::std;
    std::vector<float> storage(6);
    state_dict want;
    want.add(replicated("w", data_type::f32, {2, 3}),
             md::mdspan<float, md::dextents<long, 2>>(storage.data(), 2, 3));
    BOOST_TEST(want[0].tensor.data == storage.data());
    using matrix = md::mdspan<float, md::dextents<long, 2>>;
    testing::check_adapter<matrix>(
        {.make = [](index_vector const& shape,
                    data_type) { return matrix(elements.data(), shape[0], shape[1]); },
         .write = [](matrix& t, index_vector const& i,
                     int number) { t(i[0], i[1]) = static_cast<float>(number); },
         .read = [](matrix const& t,
                    index_vector const& i) { return static_cast<int>(t(i[0], i[1])); },
         .ndims = {2}});
    using cube = md::mdspan<float, md::extents<int, 2, md::dynamic_extent, 4>, md::layout_left>;
    cube const three(elements.data(), 3);
    BOOST_TEST((view(three).shape == index_vector{2, 3, 4}));
    BOOST_TEST((view(three).strides == index_vector{1, 2, 6}));
    using apart = md::layout_stride::mapping<md::dextents<long, 2>>;
    md::mdspan<float, md::dextents<long, 2>, md::layout_stride> const steps(
        elements.data(), apart(md::dextents<long, 2>(2, 3), md::array<long, 2>{10, 3}));
    BOOST_TEST((view(steps).strides == index_vector{10, 3}));
    md::mdspan<float, md::extents<int>> const scalar(elements.data());
    BOOST_TEST((view(scalar).shape == index_vector{}));
}
#endif

BOOST_AUTO_TEST_SUITE_END()
