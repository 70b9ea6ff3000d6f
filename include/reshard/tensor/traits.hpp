// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_TRAITS_HPP
#define RESHARD_TENSOR_TRAITS_HPP

#include <reshard/core/data_type.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

/// \file
/// The requirements on a user's tensor type, and the memory of its elements.

namespace reshard {

/// The memory of the host, or the memory of one device.
struct memory_space {
    /// The kinds of memory. Only the processor's own memory is `host`, pinned or not.
    enum kind_type : std::uint8_t {
        host,   ///< this process may read and write it
        cuda,   ///< the processor cannot use the addresses of this kind and the next ones
        rocm,   ///< AMD's GPUs
        sycl,   ///< devices of SYCL, such as Intel's GPUs
        device, ///< any other device
    };

    constexpr memory_space() = default;
    constexpr memory_space(kind_type memory, int device_number = 0)
        : kind(memory), number(memory == host ? 0 : device_number) {}

    constexpr bool is_host() const { return kind == host; }

    constexpr bool operator==(memory_space const&) const = default;

    kind_type kind = host;
    int number = 0; ///< of the device, among those of its kind
};

/// As text: `host`, `cuda:1`.
inline std::string to_string(memory_space space) {
    constexpr std::string_view names[] = {"host", "cuda", "rocm", "sycl", "device"};
    std::string text(names[space.kind]);
    return space.is_host() ? text : text + ":" + std::to_string(space.number);
}

/// Describes how to see a `T` as a tensor. Not defined by default; specialise it to adapt a tensor
/// type.
///
/// A specialisation has `element_type`, `shape(t)`, `strides(t)` (in elements, any sign) and
/// `data(t)`, the address of the element at index 0, 0, ... Four other members are optional:
/// - `memory(t)`, the `memory_space` that has the elements (default: host memory),
/// - `dtype(t)`, for element types known at run time (default: `data_type_of<element_type>`). Then
///   `element_type` is `std::byte`, and `data(t)` is the address of the first byte,
/// - `static constexpr bool is_borrowed = true`, for types that own no elements, such as
///   `std::span`,
/// - `static constexpr bool is_handle = true`, for counted references such as `at::Tensor`: a copy
///   refers to the same elements and keeps them alive. A state dict keeps a copy.
template <class T>
struct tensor_traits;

namespace detail {

/// A type whose traits report the data type of its elements at run time.
template <class T>
concept has_dtype = requires(T const& ct) {
    { tensor_traits<T>::dtype(ct) } -> std::same_as<data_type>;
};

/// A type whose traits report which memory holds its elements.
template <class T>
concept has_memory = requires(T const& ct) {
    { tensor_traits<T>::memory(ct) } -> std::convertible_to<memory_space>;
};

/// A type whose element type has a known data type.
template <class T>
concept has_static_dtype = requires {
    data_type_traits<std::remove_cv_t<typename tensor_traits<T>::element_type>>::value;
};

} // namespace detail

/// A type that can be seen as a tensor.
///
/// `static_assert(tensor<my_matrix>)` is the complete conformance test. The library derives no
/// member of `tensor_traits` from the type itself.
template <class T>
concept tensor = std::same_as<T, std::remove_cvref_t<T>> && requires(T& t, T const& ct) {
    typename tensor_traits<T>::element_type;
    { tensor_traits<T>::shape(ct) } -> std::convertible_to<index_vector>;
    { tensor_traits<T>::strides(ct) } -> std::convertible_to<index_vector>;
    { tensor_traits<T>::data(t) } -> std::same_as<typename tensor_traits<T>::element_type*>;
    { tensor_traits<T>::data(ct) } -> std::same_as<typename tensor_traits<T>::element_type const*>;
} && (detail::has_dtype<T> || detail::has_static_dtype<T>);

/// A tensor that owns no elements. A copy of it, or a temporary, refers to the same elements.
template <class T>
concept borrowed_tensor = tensor<T> && requires { requires tensor_traits<T>::is_borrowed; };

namespace detail {

/// A tensor whose copies refer to the same elements and keep them alive.
template <class T>
concept tensor_handle =
    tensor<T> && std::copy_constructible<T> && requires { requires tensor_traits<T>::is_handle; };

/// The data type of the elements of `t`.
template <tensor T>
constexpr data_type dtype_of(T const& t) {
    if constexpr (has_dtype<T>)
        return tensor_traits<T>::dtype(t);
    else
        return data_type_of<typename tensor_traits<T>::element_type>;
}

/// The memory that has the elements of `t`.
template <tensor T>
constexpr memory_space memory_of(T const& t) {
    if constexpr (detail::has_memory<T>)
        return tensor_traits<T>::memory(t);
    else
        return {};
}

} // namespace detail

} // namespace reshard

#endif
