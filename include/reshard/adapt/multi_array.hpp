// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_MULTI_ARRAY_HPP
#define RESHARD_ADAPT_MULTI_ARRAY_HPP

#include <reshard/tensor/traits.hpp>

#include <boost/multi_array.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

/// \file
/// Boost.MultiArray's arrays, references and views as tensors, with any storage order and bases.

namespace reshard {

namespace detail {

/// A type with the members of Boost's MultiArray concept. No other known type has all of them.
template <class Array>
concept boost_array = requires(Array const& array) {
    typename Array::index_range;
    typename Array::size_type;
    { Array::dimensionality } -> std::convertible_to<std::size_t>;
    { array.shape()[0] } -> std::convertible_to<typename Array::size_type>;
    { array.strides()[0] } -> std::convertible_to<typename Array::index>;
    { array.index_bases()[0] } -> std::convertible_to<typename Array::index>;
    *array.origin();
};

/// True for an array; false for a reference or a view, whose elements belong to an array.
template <class T, std::size_t N, class Allocator>
constexpr bool owns_elements(boost::multi_array<T, N, Allocator> const*) {
    return true;
}
constexpr bool owns_elements(void const*) { return false; }

/// The address of the element at the first index of each axis. `origin()` is the address at index
/// 0.
template <class Array, class Element>
Element* first_element(Array const& array, Element* zero) {
    for (std::size_t axis = 0; axis < Array::dimensionality; ++axis)
        zero += array.index_bases()[axis] * array.strides()[axis];
    return zero;
}

} // namespace detail

/// Index 0 of each axis of the tensor is the first index of that axis of the array.
template <detail::boost_array Array>
struct tensor_traits<Array> {
    using element_type = std::remove_pointer_t<decltype(std::declval<Array&>().origin())>;
    static constexpr bool is_borrowed = !detail::owns_elements(static_cast<Array const*>(nullptr));

    static index_vector shape(Array const& t) {
        return index_vector(t.shape(), t.shape() + Array::dimensionality);
    }
    static index_vector strides(Array const& t) {
        return index_vector(t.strides(), t.strides() + Array::dimensionality);
    }
    static element_type* data(Array& t) { return detail::first_element(t, t.origin()); }
    static element_type const* data(Array const& t) {
        return detail::first_element<Array, element_type const>(t, t.origin());
    }
};

} // namespace reshard

#endif
