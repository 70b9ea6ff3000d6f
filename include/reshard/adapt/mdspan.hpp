// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_MDSPAN_HPP
#define RESHARD_ADAPT_MDSPAN_HPP

#include <reshard/core/error.hpp>
#include <reshard/tensor/traits.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

/// \file
/// `mdspan` of the standard library, of Kokkos or of CCCL, as a tensor.

namespace reshard {

namespace detail {

/// A type with the members of `std::mdspan`. No other known type has all of them. Its elements are
/// in memory, at a pointer.
///
/// An mdspan whose accessor changes the values in memory, such as the result of
/// `std::linalg::scaled` or `conjugated`, is not a tensor. A Kokkos view, which has a memory space,
/// has another adapter.
template <class T>
concept mdspan_like = requires(T const& t, typename T::rank_type axis) {
    typename T::extents_type;
    typename T::mapping_type;
    typename T::accessor_type;
    { T::rank() } -> std::convertible_to<std::size_t>;
    { t.extent(axis) } -> std::convertible_to<index_t>;
    { t.data_handle() } -> std::convertible_to<typename T::element_type*>;
    { t.is_strided() } -> std::convertible_to<bool>;
    requires std::same_as<typename T::reference, typename T::element_type&>;
} && !requires { typename T::memory_space; };

} // namespace detail

/// An mdspan does not own its elements. `strides` refuses a layout without strides.
template <detail::mdspan_like T>
struct tensor_traits<T> {
    using element_type = typename T::element_type;
    using axis_type = typename T::rank_type;
    static constexpr bool is_borrowed = true;

    static constexpr index_vector shape(T const& t) {
        index_vector result;
        for (axis_type axis = 0; axis < T::rank(); ++axis)
            result.push_back(static_cast<index_t>(t.extent(axis)));
        return result;
    }
    /// \throws error with errc::unsupported if the layout has no strides
    static constexpr index_vector strides(T const& t) {
        index_vector result;
        if constexpr (T::rank() != 0 && requires { t.stride(axis_type{}); }) {
            if (!t.is_strided())
                fail_without_strides();
            for (axis_type axis = 0; axis < T::rank(); ++axis)
                result.push_back(static_cast<index_t>(t.stride(axis)));
        } else if constexpr (T::rank() != 0)
            fail_without_strides();
        return result;
    }
    static constexpr element_type* data(T& t) { return t.data_handle(); }
    static constexpr element_type const* data(T const& t) { return t.data_handle(); }

private:
    [[noreturn]] static void fail_without_strides() {
        fail(errc::unsupported, "an mdspan of ", T::rank(),
             " axes whose layout has no strides; copy it into one with layout_right");
    }
};

} // namespace reshard

#endif
