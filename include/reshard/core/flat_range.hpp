// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_FLAT_RANGE_HPP
#define RESHARD_CORE_FLAT_RANGE_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/index_vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// \file
/// A flat range of a row-major box, as ZeRO shards have them, seen as boxes, and back.

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

/// `4:10`.
inline std::string to_string(flat_range const& range) {
    return std::to_string(range.begin) + ":" + std::to_string(range.end);
}

namespace detail {

/// The largest box that begins at `position`, is contiguous in row-major order and ends by `end`.
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

/// The boxes whose elements are exactly those of `range`, in order; each is contiguous in row-major
/// order.
///
/// \par Shape  of the box that the range counts in; at most `2 * shape.size() - 1` boxes result
/// \throws     error with errc::shape_mismatch when the range exceeds the box
/// \par Source flattened shards of PaddlePaddle Flex Checkpoint and Megatron-Core; there one
///             enclosing box (too large, and wrong from three axes on), here the exact union
constexpr std::vector<box> boxes_of(flat_range const& range, index_vector const& shape) {
    if (range.begin < 0 || range.end < range.begin || range.end > element_count(shape))
        fail(errc::shape_mismatch, "flat range ", range, " exceeds the ", element_count(shape),
             " elements of a box of shape ", shape);
    std::vector<box> boxes;
    for (index_t position = range.begin; position < range.end;) {
        boxes.push_back(contiguous_box(position, range.end, shape));
        position += element_count(boxes.back());
    }
    return boxes;
}

/// The flat range that holds exactly the elements of `region`, where there is one.
///
/// \par Shape of the box that `region` lies in
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

/// The flat range that `boxes`, in order, make up without a gap, where there is one.
///
/// \par Shape of the box that `boxes` lie in
/// \pre       `contains(whole(shape), region)` for each `region` of `boxes`
/// \post      `flat_range_of(boxes_of(range, shape), shape) == range` for each range that is not
///            empty
constexpr std::optional<flat_range> flat_range_of(std::vector<box> const& boxes,
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

} // namespace detail

} // namespace reshard

#endif
