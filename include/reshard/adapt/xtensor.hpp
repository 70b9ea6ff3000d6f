// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_XTENSOR_HPP
#define RESHARD_ADAPT_XTENSOR_HPP

#include <reshard/tensor/traits.hpp>

#include <xtensor/xarray.hpp>
#include <xtensor/xbuffer_adaptor.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

/// \file
/// xtensor's arrays, tensors, adaptors and strided views as tensors.

namespace reshard {

namespace detail {

/// An expression of xtensor with its elements in memory; a sum does not match.
template <class T>
concept xtensor_strided = requires(T& t, T const& ct) {
    typename T::expression_tag;
    { t.data() + t.data_offset() } -> std::convertible_to<typename T::value_type const*>;
    { *ct.strides().begin() } -> std::convertible_to<index_t>;
    { *ct.shape().begin() } -> std::convertible_to<index_t>;
};

/// True if an expression does not own the memory of its container.
template <class Container>
constexpr bool is_foreign = std::is_lvalue_reference_v<Container>;
template <class Pointer, class Allocator>
constexpr bool is_foreign<xt::xbuffer_adaptor<Pointer, xt::no_ownership, Allocator>> = true;

template <class T>
constexpr bool borrows_elements = false;
template <class EC, xt::layout_type L, class SC, class Tag>
constexpr bool borrows_elements<xt::xarray_adaptor<EC, L, SC, Tag>> = is_foreign<EC>;
template <class EC, std::size_t N, xt::layout_type L, class Tag>
constexpr bool borrows_elements<xt::xtensor_adaptor<EC, N, L, Tag>> = is_foreign<EC>;
template <class EC, std::size_t N, xt::layout_type L, class Tag>
constexpr bool borrows_elements<xt::xtensor_view<EC, N, L, Tag>> = is_foreign<EC>;
template <class CT, class... S>
constexpr bool borrows_elements<xt::xview<CT, S...>> =
    is_foreign<CT> || borrows_elements<std::remove_cvref_t<CT>>;
template <class CT, class S, xt::layout_type L, class FST>
constexpr bool borrows_elements<xt::xstrided_view<CT, S, L, FST>> =
    is_foreign<CT> || borrows_elements<std::remove_cvref_t<CT>>;

} // namespace detail

/// Views of lvalue containers, and adaptors of pointers, do not own their elements.
template <detail::xtensor_strided T>
struct tensor_traits<T> {
    using element_type = std::remove_pointer_t<decltype(std::declval<T&>().data())>;
    static constexpr bool is_borrowed = detail::borrows_elements<T>;

    static index_vector shape(T const& t) {
        return index_vector(t.shape().begin(), t.shape().end());
    }
    static index_vector strides(T const& t) {
        return index_vector(t.strides().begin(), t.strides().end());
    }
    static element_type* data(T& t) { return t.data() + t.data_offset(); }
    static element_type const* data(T const& t) { return t.data() + t.data_offset(); }
};

} // namespace reshard

#endif
