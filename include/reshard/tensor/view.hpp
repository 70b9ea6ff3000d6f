// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_VIEW_HPP
#define RESHARD_TENSOR_VIEW_HPP

#include <reshard/core/config.hpp>
#include <reshard/tensor/traits.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

/// \file
/// Any tensor without its type: what everything below the façade works on.

namespace reshard {

/// Elements that may be read: where they are and how they lie.
///
/// \par Units strides in elements; `data` is the address of the element at index 0, 0, ...
/// \invariant `shape.size() == strides.size()`
struct const_tensor_view {
    void const* data = nullptr;
    data_type dtype{};
    index_vector shape;
    index_vector strides;
    memory_kind memory = memory_kind::host;

    constexpr std::size_t ndim() const { return shape.size(); }

    constexpr bool operator==(const_tensor_view const&) const = default;
};

/// Elements that may be written too.
///
/// \par Units strides in elements; `data` is the address of the element at index 0, 0, ...
/// \invariant `shape.size() == strides.size()`
struct tensor_view {
    void* data = nullptr;
    data_type dtype{};
    index_vector shape;
    index_vector strides;
    memory_kind memory = memory_kind::host;

    constexpr std::size_t ndim() const { return shape.size(); }

    constexpr operator const_tensor_view() const { return {data, dtype, shape, strides, memory}; }

    constexpr bool operator==(tensor_view const&) const = default;
};

namespace detail {

/// The view through `data`, writable unless its elements are `const`.
template <tensor T, class Element>
constexpr auto view_through(T const& t, Element* data) {
    using result = std::conditional_t<std::is_const_v<Element>, const_tensor_view, tensor_view>;
    return result{data, dtype_of(t), tensor_traits<T>::shape(t), tensor_traits<T>::strides(t),
                  memory_of(t)};
}

} // namespace detail

/// The elements of `t`; a `const_tensor_view` where its elements are `const`.
template <tensor T>
constexpr auto view(T& t) {
    return detail::view_through(t, tensor_traits<T>::data(t));
}

/// The elements of `t`, for reading.
template <tensor T>
constexpr const_tensor_view view(T const& t) {
    return detail::view_through(t, tensor_traits<T>::data(t));
}

/// The elements that a temporary such as a `std::span` shows.
template <borrowed_tensor T>
constexpr auto view(T&& t) {
    return detail::view_through(t, tensor_traits<T>::data(t));
}

/// A temporary that owns its elements has none to show later.
template <tensor T>
    requires(!borrowed_tensor<T>)
void view(T const&&) = delete;

/// `bfloat16 [4, 6] strides [6, 1]`; never an address or an element.
RESHARD_DECL std::string to_string(const_tensor_view const& elements);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/tensor/impl/view.ipp>
#endif

#endif
