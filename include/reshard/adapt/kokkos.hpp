// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_KOKKOS_HPP
#define RESHARD_ADAPT_KOKKOS_HPP

#include <reshard/tensor/traits.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

/// \file
/// Kokkos views, and types with the same members, as tensors.

namespace reshard {

namespace detail {

/// A type with the members of a `Kokkos::View` from version 3.7 on. No other known type has all of
/// them.
template <class T>
concept kokkos_view = requires(T const& t) {
    typename T::memory_space;
    typename T::execution_space;
    typename T::array_layout;
    { static_cast<std::size_t>(T::rank) };
    { t.extent(0) } -> std::convertible_to<std::size_t>;
    { t.stride(0) } -> std::convertible_to<std::size_t>;
    { t.data() } -> std::same_as<typename T::value_type*>;
    { T::memory_space::name() } -> std::convertible_to<std::string_view>;
};

/// The kind of a Kokkos memory space; pinned memory is the host's. Memory that the host shares with
/// devices counts as device memory, since a kernel may be using it.
constexpr memory_space::kind_type kind_of_kokkos(std::string_view name) {
    if (name == "Host" || name.ends_with("HostPinned"))
        return memory_space::host;
    return name.starts_with("Cuda")   ? memory_space::cuda
           : name.starts_with("HIP")  ? memory_space::rocm
           : name.starts_with("SYCL") ? memory_space::sycl
                                      : memory_space::device;
}

/// The number of the device that a process uses with Kokkos, as its execution space has it.
template <class Execution>
int kokkos_device() {
    if constexpr (requires { Execution().cuda_device(); })
        return Execution().cuda_device();
    else if constexpr (requires { Execution().hip_device(); })
        return Execution().hip_device();
    else
        return 0;
}

} // namespace detail

/// A view counts references. An unmanaged view (`MemoryUnmanaged`) does not keep its memory alive.
template <detail::kokkos_view T>
struct tensor_traits<T> {
    using element_type = typename T::value_type;
    static constexpr bool is_handle = true;

    static index_vector shape(T const& t) {
        index_vector result;
        for (std::size_t axis = 0; axis < static_cast<std::size_t>(T::rank); ++axis)
            result.push_back(static_cast<index_t>(t.extent(axis)));
        return result;
    }
    static index_vector strides(T const& t) {
        index_vector result;
        for (std::size_t axis = 0; axis < static_cast<std::size_t>(T::rank); ++axis)
            result.push_back(static_cast<index_t>(t.stride(axis)));
        return result;
    }
    static reshard::memory_space memory(T const&) {
        auto const kind = detail::kind_of_kokkos(T::memory_space::name());
        return {kind, kind == reshard::memory_space::host
                          ? 0
                          : detail::kokkos_device<typename T::execution_space>()};
    }
    static element_type* data(T& t) { return t.data(); }
    static element_type const* data(T const& t) { return t.data(); }
};

} // namespace reshard

#endif
