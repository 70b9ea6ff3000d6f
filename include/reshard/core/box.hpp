// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_BOX_HPP
#define RESHARD_CORE_BOX_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

/// \file
/// The n-dimensional box, which is the shape of every shard, piece and transfer. Also every n-th
/// block of a box, which a process of a block-cyclic distribution holds.

namespace reshard {

/// A hyper-rectangle of a global tensor: `shape[i]` elements from `offset[i]`, along each axis `i`.
///
/// A structural value: it may be a template argument, and every function here is `constexpr`, so
/// the same code checks a layout at compile time and at run time.
///
/// \par Units elements, never bytes
/// \invariant `offset.size() == shape.size()`, and no extent is negative
struct box {
    index_vector offset;
    index_vector shape;

    constexpr std::size_t ndim() const { return shape.size(); }
    /// The end of the box along `axis`, after its last element.
    constexpr index_t end(std::size_t axis) const { return offset[axis] + shape[axis]; }

    /// True if every element of `inner` lies in `outer`; even an empty `inner` must lie within the
    /// bounds of `outer`.
    ///
    /// \pre `outer.ndim() == inner.ndim()`
    friend constexpr bool contains(box const& outer, box const& inner) {
        BOOST_ASSERT(outer.ndim() == inner.ndim());
        for (std::size_t axis = 0; axis < outer.ndim(); ++axis)
            if (inner.offset[axis] < outer.offset[axis] || inner.end(axis) > outer.end(axis))
                return false;
        return true;
    }

    static constexpr void members(auto& self, auto&& visit) { visit(self.offset, self.shape); }

    constexpr bool operator==(box const&) const = default;
    constexpr std::strong_ordering operator<=>(box const&) const = default;
};

/// The box of all elements of a tensor with the given shape.
constexpr box whole(index_vector const& shape) {
    return {index_vector::filled(shape.size(), 0), shape};
}

namespace detail {

/// True if some extent is zero. A scalar is not empty.
constexpr bool is_empty(box const& region) {
    return std::find(region.shape.begin(), region.shape.end(), index_t{0}) != region.shape.end();
}

} // namespace detail

/// The number of elements: 1 for a scalar, 0 if an extent is zero.
///
/// \throws error with errc::overflow if the number does not fit 64 bits
constexpr index_t element_count(box const& region) { return element_count(region.shape); }

namespace detail {

/// True if the box has one extent for each offset, no number is negative, and the ends fit 64 bits.
constexpr bool is_sound(box const& region) {
    if (region.offset.size() != region.shape.size())
        return false;
    for (std::size_t axis = 0; axis < region.ndim(); ++axis)
        if (region.offset[axis] < 0 || region.shape[axis] < 0 ||
            region.offset[axis] > std::numeric_limits<index_t>::max() - region.shape[axis])
            return false;
    return true;
}

} // namespace detail

/// The elements that `a` and `b` share, if any.
///
/// \pre  `a.ndim() == b.ndim()`
/// \post a result is not empty, and `intersect(a, b) == intersect(b, a)`
constexpr std::optional<box> intersect(box const& a, box const& b) {
    BOOST_ASSERT(a.ndim() == b.ndim());
    std::optional<box> common; // written in place: a box is 144 bytes
    for (std::size_t axis = 0; axis < a.ndim(); ++axis)
        if (std::max(a.offset[axis], b.offset[axis]) >= std::min(a.end(axis), b.end(axis)))
            return common;
    common.emplace(a);
    for (std::size_t axis = 0; axis < a.ndim(); ++axis) {
        common->offset[axis] = std::max(a.offset[axis], b.offset[axis]);
        common->shape[axis] = std::min(a.end(axis), b.end(axis)) - common->offset[axis];
    }
    return common;
}

namespace detail {

/// The smallest box that contains both boxes.
///
/// \pre `a.ndim() == b.ndim()`
constexpr box hull(box a, box const& b) {
    BOOST_ASSERT(a.ndim() == b.ndim());
    for (std::size_t axis = 0; axis < a.ndim(); ++axis) {
        index_t const end = std::max(a.end(axis), b.end(axis));
        a.offset[axis] = std::min(a.offset[axis], b.offset[axis]);
        a.shape[axis] = end - a.offset[axis];
    }
    return a;
}

/// Converts `region` to coordinates relative to `offset`.
///
/// \pre `region.ndim() == offset.size()`
constexpr box relative_to(box region, index_vector const& offset) {
    BOOST_ASSERT(region.ndim() == offset.size());
    for (std::size_t axis = 0; axis < offset.size(); ++axis)
        region.offset[axis] -= offset[axis];
    return region;
}

/// Blocks along one axis of a region. The first block begins at the region's offset, and the last
/// block ends at the region's end.
///
/// Every block except the last has `block` elements. Blocks begin `period` elements apart.
///
/// \par Units elements
struct axis_cycle {
    std::size_t axis = 0;
    index_t block = 1;
    index_t period = 2;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.axis, self.block, self.period);
    }

    constexpr bool operator==(axis_cycle const&) const = default;
    constexpr auto operator<=>(axis_cycle const&) const = default;
};

/// The axes along which a region consists of blocks, in ascending order. Empty if the region has no
/// gaps.
///
/// \invariant each axis has at least two blocks, so that equal sets of elements have equal
///            descriptions
using axis_cycles = vector<axis_cycle>;

/// The first invalid cycle of a region, or null.
///
/// \pre `is_sound(region)`
constexpr axis_cycle const* find_bad_cycle(box const& region, axis_cycles const& cycles) {
    for (std::size_t i = 0; i < cycles.size(); ++i) {
        axis_cycle const& cycle = cycles[i];
        if (cycle.axis >= region.ndim() || (i > 0 && cycle.axis <= cycles[i - 1].axis) ||
            cycle.block < 1 || cycle.period <= cycle.block ||
            region.shape[cycle.axis] <= cycle.period ||
            (region.shape[cycle.axis] - 1) % cycle.period >= cycle.block)
            return &cycle;
    }
    return nullptr;
}

/// Adds a cycle if the region has several of its blocks.
///
/// \pre `cycles` has no cycle along its axis
constexpr void add_cycle(axis_cycles& cycles, axis_cycle const& cycle, box const& region) {
    if (cycle.period == cycle.block || region.shape[cycle.axis] <= cycle.block)
        return;
    cycles.push_back(cycle);
    std::rotate(std::upper_bound(cycles.begin(), cycles.end() - 1, cycle), cycles.end() - 1,
                cycles.end());
}

/// The total number of elements in the blocks of an extent.
///
/// \par Source `numroc` of ScaLAPACK, for the process that holds the first block
constexpr index_t held_extent(index_t extent, axis_cycle const& cycle) {
    return extent / cycle.period * cycle.block + std::min(extent % cycle.period, cycle.block);
}

/// The shape of the packed array, in which the blocks are adjacent.
///
/// \pre `find_bad_cycle` returns null, here and below
constexpr index_vector held_shape(box const& region, axis_cycles const& cycles) {
    index_vector shape = region.shape;
    for (axis_cycle const& cycle : cycles)
        shape[cycle.axis] = held_extent(shape[cycle.axis], cycle);
    return shape;
}

/// Converts an element's position in the region to its index in the packed array.
///
/// \param within the element's position in the region
/// \pre the element is in a block
constexpr index_vector held_index(axis_cycles const& cycles, index_vector within) {
    for (axis_cycle const& cycle : cycles)
        within[cycle.axis] =
            within[cycle.axis] / cycle.period * cycle.block + within[cycle.axis] % cycle.period;
    return within;
}

/// Converts an index in the packed array to a position in the region: the inverse of `held_index`.
constexpr index_vector region_index(axis_cycles const& cycles, index_vector held) {
    for (axis_cycle const& cycle : cycles)
        held[cycle.axis] =
            held[cycle.axis] / cycle.block * cycle.period + held[cycle.axis] % cycle.block;
    return held;
}

/// The strides between the elements of a block, or of a region without blocks.
///
/// \param strides one for each axis, of the packed array; or two for each axis: first those from
///                block to block, then those from element to element within a block
constexpr index_vector strides_in_block(index_vector const& strides, std::size_t ndim) {
    return strides.size() <= ndim
               ? strides
               : index_vector(strides.end() - static_cast<std::ptrdiff_t>(ndim), strides.end());
}

/// The distance in memory along an axis between two elements of a shard.
///
/// \param strides as in `strides_in_block`
/// \param step    their distance in the region: less than a block, a multiple of the period, or
///                any if one of them is the region's first element
constexpr index_t memory_step(axis_cycles const& cycles, index_vector const& strides,
                              std::size_t ndim, std::size_t axis, index_t step) {
    index_t const within = strides[strides.size() - ndim + axis];
    for (axis_cycle const& cycle : cycles)
        if (cycle.axis == axis) {
            index_t const between = strides.size() > ndim ? strides[axis] : cycle.block * within;
            return step / cycle.period * between + step % cycle.period * within;
        }
    return step * within;
}

/// The block that contains an element.
///
/// \pre the element at `position` is in a block
constexpr box block_at(box region, axis_cycles const& cycles, index_vector const& position) {
    for (axis_cycle const& cycle : cycles) {
        index_t const end = region.end(cycle.axis);
        index_t& offset = region.offset[cycle.axis];
        offset += (position[cycle.axis] - offset) / cycle.period * cycle.period;
        BOOST_ASSERT(position[cycle.axis] - offset < cycle.block);
        region.shape[cycle.axis] = std::min(cycle.block, end - offset);
    }
    return region;
}

/// True if a block of the region shares elements with `wanted`.
///
/// \pre `wanted` has the region's number of axes
constexpr bool shares_elements(box const& region, axis_cycles const& cycles, box const& wanted) {
    auto const common = intersect(region, wanted);
    if (!common)
        return false;
    return std::all_of(cycles.begin(), cycles.end(), [&](axis_cycle const& cycle) {
        index_t const first = common->offset[cycle.axis] - region.offset[cycle.axis];
        return first % cycle.period < cycle.block ||
               first % cycle.period + common->shape[cycle.axis] > cycle.period;
    });
}

using box_visitor = function_ref<void(box const&)>;

/// Receives the index of a box and the elements that this box shares with another box.
using overlap_visitor = function_ref<void(std::uint32_t, box const&)>;

/// Calls `visit(block)` for each block of a region, in row-major order; a solid region is one
/// block.
constexpr void for_each_block(box const& region, axis_cycles const& cycles, box_visitor visit) {
    if (cycles.empty())
        return visit(region);
    index_vector counts;
    for (axis_cycle const& cycle : cycles)
        counts.push_back((region.shape[cycle.axis] - 1) / cycle.period + 1);
    index_t const blocks = element_count(counts);
    for (index_t number = 0; number < blocks; ++number) {
        index_vector const at = unravel_index(number, counts);
        index_vector position = region.offset;
        for (std::size_t i = 0; i < cycles.size(); ++i)
            position[cycles[i].axis] += at[i] * cycles[i].period;
        visit(block_at(region, cycles, position));
    }
}

} // namespace detail

/// The half-open intervals of a box, one for each axis: `[0:2, 4:8]`.
RESHARD_DECL std::string to_string(box const& region);

/// The axis, block and period of each cycle: ` axis 0: 36 of 72`.
RESHARD_DECL std::string to_string(detail::axis_cycles const& cycles);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/core/impl/box.ipp>
#endif

#endif
