// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_EQUAL_SHARES_HPP
#define RESHARD_LAYOUT_EQUAL_SHARES_HPP

#include <reshard/layout/descriptor.hpp>
#include <reshard/layout/mesh.hpp>

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Derives a shard from a rank's own data: its local shape, the index of its share and the number
/// of shares.

namespace reshard {

namespace detail {

/// Share `index` of `count` equal shares along an axis.
struct equal_share {
    std::size_t axis = 0;
    index_t index = 0; ///< from 0
    index_t count = 1;
};

/// Throws if the axis of a share does not exist, if `share.index` is not below `share.count`, or if
/// the global extent does not fit 64 bits.
constexpr void check_share(std::string const& key, index_vector const& local_shape,
                           equal_share const& share) {
    if (share.axis >= local_shape.size())
        fail(errc::shape_mismatch, "'", key, "': axis ", share.axis,
             " is out of range for a tensor of shape ", local_shape);
    if (share.index < 0 || share.index >= share.count)
        fail(errc::bad_layout, "'", key, "': axis ", share.axis, ": share ", share.index, " of ",
             share.count, " does not exist; shares are numbered from 0");
    index_t const extent = local_shape[share.axis];
    if (extent < 0)
        fail(errc::bad_layout, "'", key, "': axis ", share.axis, " has the extent ", extent);
    if (extent > std::numeric_limits<index_t>::max() / share.count)
        fail(errc::overflow, "'", key, "': axis ", share.axis, ": ", share.count, " shares of ",
             counted(extent, "element"), " do not fit in 64 bits");
}

} // namespace detail

/// A rank's share of a tensor that a mesh axis cuts along `axis`: each rank along the mesh axis has
/// one share.
///
/// \throws error with errc::bad_layout if the mesh has no axis of that name, or no such rank
constexpr detail::equal_share axis_share(mesh const& ranks, index_t rank,
                                         std::string_view mesh_axis, std::size_t axis) {
    std::size_t const along = ranks.axis(mesh_axis);
    if (rank < 0 || rank >= index_t{ranks.rank_count()})
        fail(errc::bad_layout, "rank ", rank, " is outside the mesh ", ranks, ", which has ",
             detail::counted(ranks.rank_count(), "rank"));
    return {axis, ranks.coordinates_of(rank)[along], ranks.all_axes[along].extent};
}

/// The descriptor of a shard of `local_shape` that is one of several equal shares along each given
/// axis.
///
/// Without shares, every rank holds a replica. If the local shapes of ranks differ, the shares are
/// not equal. A layout made of their descriptors is refused, because the global shapes differ.
///
/// \par Units  elements
/// \throws     error with errc::shape_mismatch for an axis that does not exist, with
///             errc::bad_layout for an index that is not below `count`, an axis named twice or a
///             negative extent, with errc::overflow for more than 2^63 - 1 elements
/// \par Source `shard_weight` and `make_replicated_sharded_weight` of PaddlePaddle,
///             `ShardedTensor.from_rank_offsets` of Megatron-Core
constexpr shard_descriptor equal_shares(std::string key, data_type dtype,
                                        index_vector const& local_shape,
                                        std::initializer_list<detail::equal_share> shares) {
    shard_descriptor result{std::move(key), dtype, local_shape, whole(local_shape), {}};
    index_vector values = index_vector::filled(local_shape.size(), 0);
    for (detail::equal_share const& share : shares) {
        detail::check_share(result.key, local_shape, share);
        if (values[share.axis]++ != 0)
            fail(errc::bad_layout, "'", result.key, "': two shares are given along axis ",
                 share.axis);
        result.global_shape[share.axis] = local_shape[share.axis] * share.count;
        result.region.offset[share.axis] = local_shape[share.axis] * share.index;
    }
    check(result);
    return result;
}

/// The descriptor of a tensor that every rank holds completely.
///
/// \throws error as `check` of descriptors
constexpr shard_descriptor replicated(std::string key, data_type dtype, index_vector const& shape) {
    return equal_shares(std::move(key), dtype, shape, {});
}

/// Share `index` of `count` shares of a sequence of `elements` elements.
///
/// Each share has elements / count elements, rounded up; the last shares may be shorter or empty.
///
/// \par Units  elements
/// \post       the shares tile `0:elements` in order
/// \throws     error with errc::bad_layout if `index` is not below `count`
constexpr flat_range flat_share(index_t elements, index_t index, index_t count) {
    BOOST_ASSERT(elements >= 0);
    if (index < 0 || index >= count)
        fail(errc::bad_layout, "flat share ", index, " of ", count,
             " does not exist; shares are numbered from 0");
    index_t const most = elements / count + (elements % count != 0);
    if (most == 0 || index > elements / most)
        return {elements, elements};
    return {index * most, index * most + std::min(most, elements - index * most)};
}

/// Share `index` of `count` shares of a shard's elements, in storage order.
///
/// The region does not change, which shows that the shares belong to one shard. A flat shard is cut
/// again.
///
/// \throws     error as `check` of descriptors and as `flat_share`, naming the key
/// \par Source flattened ranges of Megatron-Core's distributed optimizer: data-parallel ranks share
///             the flattened tensor-parallel shard
constexpr shard_descriptor flat_share(shard_descriptor shard, index_t index, index_t count) {
    check(shard);
    if (index < 0 || index >= count)
        fail(errc::bad_layout, "'", shard.key, "': flat share ", index, " of ", count,
             " does not exist; shares are numbered from 0");
    flat_range const full_range = shard.flat.value_or(flat_range{0, element_count(shard.region)});
    flat_range const share = flat_share(full_range.size(), index, count);
    shard.flat = flat_range{full_range.begin + share.begin, full_range.begin + share.end};
    return shard;
}

} // namespace reshard

#endif
