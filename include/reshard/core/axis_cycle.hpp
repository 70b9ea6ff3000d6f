// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_AXIS_CYCLE_HPP
#define RESHARD_CORE_AXIS_CYCLE_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/index_vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

/// \file
/// Every n-th block of a region: what one process of a block-cyclic distribution holds.

namespace reshard {

namespace detail {

/// Along one axis of a region, blocks of which the first begins and the last ends where the region
/// does.
///
/// Every block but the last has `block` elements; from the begin of one to that of the next there
/// are `period`.
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

/// The axes along which a region is blocks, ascending; none: all of the region is meant.
///
/// \invariant along each of them there are at least two blocks, so that equal elements have equal
///            descriptions
using axis_cycles = std::vector<axis_cycle>;

/// What is wrong with cycles of a region, or nothing.
///
/// \pre `is_sound(region)`
constexpr axis_cycle const* find_bad_cycle(box const& region, axis_cycles const& cycles) {
    for (std::size_t i = 0; i < cycles.size(); ++i) {
        axis_cycle const& one = cycles[i];
        if (one.axis >= region.ndim() || (i > 0 && one.axis <= cycles[i - 1].axis) ||
            one.block < 1 || one.period <= one.block || region.shape[one.axis] <= one.period ||
            (region.shape[one.axis] - 1) % one.period >= one.block)
            return &one;
    }
    return nullptr;
}

/// How many elements the blocks of an extent have together.
///
/// \par Source `numroc` of ScaLAPACK, seen from the process that holds the first block
constexpr index_t held_extent(index_t extent, axis_cycle const& cycle) {
    return extent / cycle.period * cycle.block + std::min(extent % cycle.period, cycle.block);
}

/// The shape of the array in which the blocks lie side by side.
///
/// \pre `find_bad_cycle` finds none, here and below
constexpr index_vector held_shape(box const& region, axis_cycles const& cycles) {
    index_vector shape = region.shape;
    for (axis_cycle const& one : cycles)
        shape[one.axis] = held_extent(shape[one.axis], one);
    return shape;
}

/// Where an element lies in that array.
///
/// \param within where it lies in the region
/// \pre   it is one of a block
constexpr index_vector held_index(axis_cycles const& cycles, index_vector within) {
    for (axis_cycle const& one : cycles)
        within[one.axis] =
            within[one.axis] / one.period * one.block + within[one.axis] % one.period;
    return within;
}

/// The block that has an element.
///
/// \pre the element at `place` is one of a block
constexpr box block_at(box region, axis_cycles const& cycles, index_vector const& place) {
    for (axis_cycle const& one : cycles) {
        index_t const end = region.end(one.axis);
        index_t& offset = region.offset[one.axis];
        offset += (place[one.axis] - offset) / one.period * one.period;
        BOOST_ASSERT(place[one.axis] - offset < one.block);
        region.shape[one.axis] = std::min(one.block, end - offset);
    }
    return region;
}

/// True where one of the blocks has some of the elements of `wanted`.
///
/// \pre `wanted` has as many axes as the region
constexpr bool shares_elements(box const& region, axis_cycles const& cycles, box const& wanted) {
    auto const common = intersect(region, wanted);
    if (!common)
        return false;
    return std::all_of(cycles.begin(), cycles.end(), [&](axis_cycle const& one) {
        index_t const first = common->offset[one.axis] - region.offset[one.axis];
        return first % one.period < one.block ||
               first % one.period + common->shape[one.axis] > one.period;
    });
}

/// Calls `visit(block)` for each block of a region, in row-major order; for all of the region where
/// there are no cycles.
template <class Visit>
constexpr void for_each_block(box const& region, axis_cycles const& cycles, Visit&& visit) {
    if (cycles.empty())
        return visit(region);
    index_vector counts;
    for (axis_cycle const& one : cycles)
        counts.push_back((region.shape[one.axis] - 1) / one.period + 1);
    index_t const blocks = element_count(counts);
    for (index_t number = 0; number < blocks; ++number) {
        index_vector const at = unravel_index(number, counts);
        index_vector place = region.offset;
        for (std::size_t i = 0; i < cycles.size(); ++i)
            place[cycles[i].axis] += at[i] * cycles[i].period;
        visit(block_at(region, cycles, place));
    }
}

} // namespace detail

/// ` axis 0: 36 of 72`, for each cycle; nothing where there is none.
RESHARD_DECL std::string to_string(detail::axis_cycles const& cycles);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/core/impl/axis_cycle.ipp>
#endif

#endif
