// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_SPAN_HPP
#define RESHARD_ADAPT_SPAN_HPP

#include <reshard/tensor/traits.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

/// \file
/// `std::span` and `std::vector` as tensors of one axis.

namespace reshard {

/// A span does not own its elements, so a temporary is allowed.
template <class T, std::size_t Extent>
struct tensor_traits<std::span<T, Extent>> {
    using element_type = T;
    static constexpr bool is_borrowed = true;

    static constexpr index_vector shape(std::span<T, Extent> const& t) {
        return {static_cast<index_t>(t.size())};
    }
    static constexpr index_vector strides(std::span<T, Extent> const&) { return {1}; }
    static constexpr T* data(std::span<T, Extent>& t) { return t.data(); }
    static constexpr T const* data(std::span<T, Extent> const& t) { return t.data(); }
};

/// `std::vector<bool>` is not a tensor: its elements have no address.
template <class T, class Allocator>
    requires(!std::same_as<T, bool>)
struct tensor_traits<std::vector<T, Allocator>> {
    using element_type = T;

    static constexpr index_vector shape(std::vector<T, Allocator> const& t) {
        return {static_cast<index_t>(t.size())};
    }
    static constexpr index_vector strides(std::vector<T, Allocator> const&) { return {1}; }
    static constexpr T* data(std::vector<T, Allocator>& t) { return t.data(); }
    static constexpr T const* data(std::vector<T, Allocator> const& t) { return t.data(); }
};

} // namespace reshard

#endif
