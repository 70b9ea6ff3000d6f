// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_FLAT_SLICES_HPP
#define RESHARD_LAYOUT_FLAT_SLICES_HPP

#include <reshard/core/flat_range.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

/// \file
/// A box cut flat: which range of its elements each of several ranks has, as ZeRO cuts them.

namespace reshard::detail {

/// One box of a shard: the shard itself, or one of the few boxes that a flat range is.
struct shard_part {
    std::uint32_t shard = 0;
    std::uint8_t part = 0;

    constexpr bool operator==(shard_part const&) const = default;
};

/// The first element of `region`, in the row-major order of `shape`, from `position` on.
///
/// Takes time in proportion to the number of axes.
///
/// \pre `contains(whole(shape), region)` and `0 <= position`
constexpr std::optional<index_t> next_position(box const& region, index_t position,
                                               index_vector const& shape) {
    BOOST_ASSERT(contains(whole(shape), region));
    if (is_empty(region) || position >= element_count(shape))
        return std::nullopt;
    index_vector at = unravel_index(position, shape);
    std::size_t axis = 0;
    while (axis < at.size() && region.offset[axis] <= at[axis] && at[axis] < region.end(axis))
        ++axis;
    if (axis == at.size())
        return position;
    if (at[axis] >= region.end(axis)) {
        while (axis > 0 && at[axis - 1] + 1 >= region.end(axis - 1))
            --axis;
        if (axis == 0)
            return std::nullopt;
        ++at[axis - 1];
    }
    std::copy(region.offset.begin() + axis, region.offset.end(), at.begin() + axis);
    return ravel_index(at, shape);
}

/// Where the elements of a box lie in a buffer that is cut into equal slices.
///
/// Slice `i` has the elements of the buffer from `i * length` up to `(i + 1) * length`; the box's
/// begin at `begin`. What the buffer has beside them is padding, or belongs to other tensors.
///
/// \par Units  elements
/// \par Source the range map of Megatron-Core's distributed optimizer, and sharding V2 of
///             PaddlePaddle, whose ranges count the padding; here they end with the box
struct flat_slices {
    index_t begin = 0;
    index_t length = 0;

    static constexpr void members(auto& self, auto&& visit) { visit(self.begin, self.length); }

    constexpr bool operator==(flat_slices const&) const = default;
};

/// Slices of a box that has a buffer for itself, padded until `count` divides it, as ZeRO-3 cuts.
///
/// \pre `count > 0`
constexpr flat_slices padded_slices(index_t elements, index_t count) {
    return {0, elements / count + (elements % count != 0)};
}

/// The elements of a box that slice `i` has, counted from the box's first.
///
/// \pre `i * length` fits 64 bits
constexpr flat_range range_of(flat_slices const& slices, index_t elements, index_t i) {
    index_t const first = i * slices.length - slices.begin;
    index_t const begin = std::clamp<index_t>(first, 0, elements);
    return {begin, std::clamp<index_t>(first + slices.length, begin, elements)};
}

/// The slice that has that element of a box.
///
/// \pre `0 <= position` and `length > 0`
constexpr index_t slice_of(flat_slices const& slices, index_t position) {
    return (slices.begin + position) / slices.length;
}

} // namespace reshard::detail

#endif
