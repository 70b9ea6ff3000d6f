// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_FLAT_RANGE_HPP
#define RESHARD_CORE_FLAT_RANGE_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

/// \file
/// A flat range of a row-major box, as ZeRO shards have it, with conversions to boxes and back.
/// Also the division of a box into flat slices, one for each of several ranks.

namespace reshard {

/// The elements `begin <= i < end` of a box, counted in row-major order.
///
/// \par Units elements
struct flat_range {
    index_t begin = 0;
    index_t end = 0;

    constexpr index_t size() const { return end - begin; }

    static constexpr void members(auto& self, auto&& visit) { visit(self.begin, self.end); }

    constexpr bool operator==(flat_range const&) const = default;
    constexpr std::strong_ordering operator<=>(flat_range const&) const = default;
};

/// The range as text: `4:10`.
inline std::string to_string(flat_range const& range) {
    return std::to_string(range.begin) + ":" + std::to_string(range.end);
}

namespace detail {

/// The largest box that begins at `position`, is contiguous in row-major order and ends at or
/// before `end`.
constexpr box contiguous_box(index_t position, index_t end, index_vector const& shape) {
    box run{unravel_index(position, shape), index_vector::filled(shape.size(), 1)};
    index_t inner = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; inner *= shape[axis]) {
        run.shape[axis] = std::min((end - position) / inner, shape[axis] - run.offset[axis]);
        if (run.offset[axis] != 0 || run.shape[axis] != shape[axis])
            break;
    }
    return run;
}

/// The boxes that together contain exactly the elements of `range`, in order. Each box is
/// contiguous in row-major order.
///
/// \par Shape  the shape of the box in which the range counts; at most `2 * shape.size() - 1` boxes
///             result
/// \throws     error with errc::shape_mismatch if the range exceeds the box
/// \par Source flattened shards of PaddlePaddle Flex Checkpoint and Megatron-Core. They use one
///             enclosing box, which is too large, and wrong from three axes on. Here the union is
///             exact.
constexpr vector<box> boxes_of(flat_range const& range, index_vector const& shape) {
    if (range.begin < 0 || range.end < range.begin || range.end > element_count(shape))
        fail(errc::shape_mismatch, "flat range ", range, " exceeds the ",
             counted(element_count(shape), "element"), " of a box of shape ", shape);
    vector<box> boxes;
    for (index_t position = range.begin; position < range.end;) {
        boxes.push_back(contiguous_box(position, range.end, shape));
        position += element_count(boxes.back());
    }
    return boxes;
}

/// The flat range that contains exactly the elements of `region`, or std::nullopt if there is none.
///
/// \par Shape the shape of the box that contains `region`
/// \pre       `contains(whole(shape), region)`
constexpr std::optional<flat_range> flat_range_of(box const& region, index_vector const& shape) {
    BOOST_ASSERT(contains(whole(shape), region));
    if (is_empty(region))
        return flat_range{};
    index_t const begin = ravel_index(region.offset, shape);
    index_vector last = region.offset;
    for (std::size_t axis = 0; axis < last.size(); ++axis)
        last[axis] = region.end(axis) - 1;
    flat_range const range{begin, ravel_index(last, shape) + 1};
    if (range.size() != element_count(region))
        return std::nullopt;
    return range;
}

/// The flat range that `boxes`, in order, cover without a gap, or std::nullopt if there is none.
///
/// \par Shape the shape of the box that contains `boxes`
/// \pre       `contains(whole(shape), region)` for each `region` of `boxes`
/// \post      `flat_range_of(boxes_of(range, shape), shape) == range` for each non-empty range
constexpr std::optional<flat_range> flat_range_of(vector<box> const& boxes,
                                                  index_vector const& shape) {
    std::optional<flat_range> joined;
    for (box const& region : boxes) {
        auto const range = flat_range_of(region, shape);
        if (!range || (joined && joined->end != range->begin))
            return std::nullopt;
        joined = flat_range{joined ? joined->begin : range->begin, range->end};
    }
    return joined;
}

/// The boxes of the global tensor that a shard holds, in the shard's storage order.
///
/// \throws error with errc::shape_mismatch if `flat` exceeds `region`
constexpr vector<box> boxes_of(box const& region, std::optional<flat_range> const& flat) {
    if (!flat)
        return {region};
    vector<box> boxes = boxes_of(*flat, region.shape);
    for (box& run : boxes)
        for (std::size_t axis = 0; axis < region.ndim(); ++axis)
            run.offset[axis] += region.offset[axis];
    return boxes;
}

/// The boxes of a shard that may be block-cyclic. Blocks are in row-major order.
constexpr vector<box> boxes_of(box const& region, std::optional<flat_range> const& flat,
                               axis_cycles const& cycles) {
    if (flat || cycles.empty())
        return boxes_of(region, flat);
    vector<box> blocks;
    for_each_block(region, cycles, [&](box const& block) { blocks.push_back(block); });
    return blocks;
}

/// Identifies one box of a shard: the whole shard, or one of the boxes of its flat range.
struct shard_part {
    std::uint32_t shard = 0;
    std::uint8_t part = 0;

    constexpr bool operator==(shard_part const&) const = default;
};

/// The first element of `region` at or after `position`, in the row-major order of `shape`.
///
/// The time is proportional to the number of axes.
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

/// The position of a box in a buffer that is divided into equal slices.
///
/// Slice `i` has the buffer's elements from `i * length` up to `(i + 1) * length`. The box begins
/// at element `begin` of the buffer. The rest of the buffer is padding or belongs to other tensors.
///
/// \par Units  elements
/// \par Source the range map of Megatron-Core's distributed optimizer, and sharding V2 of
///             PaddlePaddle. Their ranges include the padding; here ranges end with the box.
struct flat_slices {
    index_t begin = 0;
    index_t length = 0;

    static constexpr void members(auto& self, auto&& visit) { visit(self.begin, self.length); }

    constexpr bool operator==(flat_slices const&) const = default;
};

/// The slices of a box with a separate buffer, which is padded to a multiple of `count` as in
/// ZeRO-3.
///
/// \pre `count > 0`
constexpr flat_slices padded_slices(index_t elements, index_t count) {
    return {0, elements / count + (elements % count != 0)};
}

/// The elements of a box in slice `i`, counted from the box's first element.
///
/// \pre `i * length` fits 64 bits
constexpr flat_range range_of(flat_slices const& slices, index_t elements, index_t i) {
    index_t const first = i * slices.length - slices.begin;
    index_t const begin = std::clamp<index_t>(first, 0, elements);
    return {begin, std::clamp<index_t>(first + slices.length, begin, elements)};
}

/// The slice that contains the element at `position` of a box.
///
/// \pre `0 <= position` and `length > 0`
constexpr index_t slice_of(flat_slices const& slices, index_t position) {
    return (slices.begin + position) / slices.length;
}

} // namespace detail

} // namespace reshard

#endif
