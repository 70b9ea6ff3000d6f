// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_BUCKETS_HPP
#define RESHARD_LAYOUT_BUCKETS_HPP

#include <reshard/core/box.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

/// \file
/// Sorts the regions of a tensor into buckets of about the same size as the regions.

namespace reshard::detail {

/// For each axis, how often it is halved. The axis then has `2^level` buckets, or fewer if rounding
/// up leaves no elements for the last ones.
using bucket_level = index_vector;

/// The extent of a bucket: `extent / 2^level`, rounded up, and at least 1.
constexpr index_t bucket_extent(index_t extent, index_t level) {
    return std::max<index_t>(1, ((extent - 1) >> level) + 1);
}

/// Calls `visit` for the buckets that share elements with `region` and that have the indices of
/// `bucket` along all axes before `axis`.
constexpr void visit_buckets(box const& region, index_vector const& extents, std::size_t axis,
                             index_vector& bucket, auto& visit) {
    if (axis == extents.size())
        return visit(static_cast<index_vector const&>(bucket));
    index_t const last = (region.end(axis) - 1) / extents[axis];
    for (index_t i = region.offset[axis] / extents[axis]; i <= last; ++i) {
        bucket[axis] = i;
        visit_buckets(region, extents, axis + 1, bucket, visit);
    }
}

/// The finest level at which a bucket is at least as large as `region`, so that the region overlaps
/// at most two buckets along each axis. A level has at most `most` buckets. Without this limit, one
/// tiny region would force every rank that wants the whole tensor to search a bucket for each
/// element.
///
/// \pre `contains(whole(shape), region)` and `most > 0`
constexpr bucket_level level_of(box const& region, index_vector const& shape, index_t most) {
    bucket_level levels;
    index_t halvings = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        index_t level = 0;
        while (bucket_extent(shape[axis], level) > 1 &&
               bucket_extent(shape[axis], level + 1) >= region.shape[axis])
            ++level;
        levels.push_back(level);
        halvings += level;
    }
    auto const allowed = static_cast<index_t>(std::bit_width(static_cast<std::uint64_t>(most))) - 1;
    for (; halvings > allowed; --halvings)
        --*std::max_element(levels.begin(), levels.end());
    return levels;
}

/// Calls `visit(bucket)` for each bucket that shares elements with `region`; `bucket` has the
/// bucket's index along each axis.
///
/// \pre `region` is not empty, and `contains(whole(shape), region)`
constexpr void for_each_bucket(box const& region, index_vector const& shape,
                               bucket_level const& level, auto&& visit) {
    index_vector extents;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        extents.push_back(bucket_extent(shape[axis], level[axis]));
    index_vector bucket = index_vector::filled(shape.size(), 0);
    visit_buckets(region, extents, 0, bucket, visit);
}

} // namespace reshard::detail

#endif
