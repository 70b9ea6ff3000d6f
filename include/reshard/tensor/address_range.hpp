// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_ADDRESS_RANGE_HPP
#define RESHARD_TENSOR_ADDRESS_RANGE_HPP

#include <reshard/core/config.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

/// \file
/// Which bytes of memory a tensor touches, and whether two tensors may touch the same.

namespace reshard::detail {

/// The bytes from `begin` up to, not including, `end`.
///
/// \par Units bytes
struct address_range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    constexpr std::uintptr_t bytes() const { return end - begin; }
    constexpr bool empty() const { return begin == end; }

    constexpr bool operator==(address_range const&) const = default;
};

/// True where the ranges share a byte.
constexpr bool overlap(address_range const& a, address_range const& b) {
    return !a.empty() && !b.empty() && a.begin < b.end && b.begin < a.end;
}

/// Elements before and behind the one at index 0, 0, ...; neither is negative.
struct element_reach {
    index_t before = 0;
    index_t behind = 0;
};

/// What overflows where strides exceed 64 bits.
inline constexpr std::string_view strides_reach = "a tensor's extents and strides";

/// How far the elements reach from the first one.
///
/// \pre    there is an element
/// \throws error with errc::overflow where strides overflow 64 bits
constexpr element_reach reach_of(index_vector const& shape, index_vector const& strides) {
    element_reach reach;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        index_t const stride = std::max(strides[axis], -std::numeric_limits<index_t>::max());
        index_t& side = stride < 0 ? reach.before : reach.behind;
        side = checked_add(side, checked_multiply(shape[axis] - 1, stride < 0 ? -stride : stride),
                           strides_reach);
    }
    return reach;
}

/// The smallest range that holds every byte of `elements`; empty where there is no element.
///
/// What lies between the elements of a strided tensor is in the range too.
///
/// \throws error with errc::overflow where strides overflow 64 bits
RESHARD_DECL address_range addresses(const_tensor_view const& elements);

/// False where the tensors certainly share no memory.
///
/// Interleaved tensors, such as two column blocks of one row-major matrix, may share none and still
/// lie in overlapping ranges: exact answers are as hard as integer programming.
///
/// \throws error with errc::overflow where strides overflow 64 bits
RESHARD_DECL bool may_share_memory(const_tensor_view const& a, const_tensor_view const& b);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/tensor/impl/address_range.ipp>
#endif

#endif
