// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_BOX_HPP
#define RESHARD_CORE_BOX_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>

/// \file
/// The n-dimensional box: the one shape of shards, pieces and transfers.

namespace reshard {

/// A hyper-rectangle of a global tensor: `shape[i]` elements from `offset[i]`, along each axis `i`.
///
/// A structural value: it may be a template argument, and every function here is `constexpr`,
/// so a shard layout known at compile time is checked by the code that runs for any other.
///
/// \par Units elements, never bytes
/// \invariant `offset.size() == shape.size()`, and no extent is negative
struct box {
    index_vector offset;
    index_vector shape;

    constexpr std::size_t ndim() const { return shape.size(); }
    /// Behind the last element along `axis`.
    constexpr index_t end(std::size_t axis) const { return offset[axis] + shape[axis]; }

    static constexpr void members(auto& self, auto&& visit) { visit(self.offset, self.shape); }

    constexpr bool operator==(box const&) const = default;
    constexpr std::strong_ordering operator<=>(box const&) const = default;
};

/// The box of all elements of a tensor of that shape.
constexpr box whole(index_vector const& shape) {
    return {index_vector::filled(shape.size(), 0), shape};
}

namespace detail {

/// True where some extent is zero. A scalar is not empty.
constexpr bool is_empty(box const& region) {
    return std::find(region.shape.begin(), region.shape.end(), index_t{0}) != region.shape.end();
}

} // namespace detail

/// The number of elements: 1 for a scalar, 0 where an extent is zero.
///
/// \throws error with errc::overflow when it does not fit 64 bits
constexpr index_t element_count(box const& region) { return element_count(region.shape); }

namespace detail {

/// True where the box has as many extents as offsets, all of them sound numbers: none is negative,
/// and the ends fit 64 bits.
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

/// The elements that `a` and `b` share, or nothing.
///
/// \pre  `a.ndim() == b.ndim()`
/// \post a result is not empty, and `intersect(a, b) == intersect(b, a)`
constexpr std::optional<box> intersect(box const& a, box const& b) {
    BOOST_ASSERT(a.ndim() == b.ndim());
    box common = a;
    for (std::size_t axis = 0; axis < a.ndim(); ++axis) {
        index_t const first = std::max(a.offset[axis], b.offset[axis]);
        index_t const last = std::min(a.end(axis), b.end(axis));
        if (first >= last)
            return std::nullopt;
        common.offset[axis] = first;
        common.shape[axis] = last - first;
    }
    return common;
}

/// True where every element of `inner` lies in `outer`; an empty `inner` must lie within its bounds
/// too.
///
/// \pre `outer.ndim() == inner.ndim()`
constexpr bool contains(box const& outer, box const& inner) {
    BOOST_ASSERT(outer.ndim() == inner.ndim());
    for (std::size_t axis = 0; axis < outer.ndim(); ++axis)
        if (inner.offset[axis] < outer.offset[axis] || inner.end(axis) > outer.end(axis))
            return false;
    return true;
}

namespace detail {

/// The smallest box around two boxes.
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

/// The same elements, counted from `offset`: where `region` lies inside a box of that offset.
///
/// \pre `region.ndim() == offset.size()`
constexpr box relative_to(box region, index_vector const& offset) {
    BOOST_ASSERT(region.ndim() == offset.size());
    for (std::size_t axis = 0; axis < offset.size(); ++axis)
        region.offset[axis] -= offset[axis];
    return region;
}

} // namespace detail

/// `[0:2, 4:8]`, half-open, one interval an axis.
RESHARD_DECL std::string to_string(box const& region);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/core/impl/box.ipp>
#endif

#endif
