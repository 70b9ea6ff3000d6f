// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_SHARDS_OF_HPP
#define RESHARD_LAYOUT_SHARDS_OF_HPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/holders_of.hpp>
#include <reshard/layout/sharding.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

/// \file
/// The shards of a rank, the holders of a box, and the list of all shards of a tensor.

namespace reshard {

namespace detail {

/// Converts the box `region` of a part to the tensor's coordinates.
constexpr box in_tensor(box region, sharding_part const& segment) {
    for (std::size_t axis = 0; axis < region.ndim(); ++axis)
        region.offset[axis] += segment.offset[axis];
    return region;
}

/// The positions of a mesh whose ranks share a box: their number and the distances between them.
class sharing_ranks {
public:
    constexpr sharing_ranks(mesh const& ranks, axis_set axes) {
        index_vector const strides = row_major_strides(ranks.shape());
        for (std::size_t i = 0; i < ranks.ndim(); ++i)
            if (has_axis(axes, i)) {
                extents_.push_back(ranks.all_axes[i].extent);
                strides_.push_back(strides[i]);
            }
    }

    constexpr index_t count() const { return element_count(extents_); }

    /// The distance from the position with slice 0 to the position with slice `i`.
    constexpr holder_t distance(index_t i) const {
        return static_cast<holder_t>(linear_offset(unravel_index(i, extents_), strides_));
    }

    /// The slice of the rank at a position.
    constexpr index_t slice_at(holder_t index) const {
        index_vector at;
        for (std::size_t i = 0; i < extents_.size(); ++i)
            at.push_back(index_t{index} / strides_[i] % extents_[i]);
        return ravel_index(at, extents_);
    }

private:
    index_vector extents_;
    index_vector strides_;
};

/// The slices of a region that has `elements` elements.
constexpr flat_slices slices_of(flat_sharing const& flat, index_t elements, index_t count) {
    return flat.slices ? *flat.slices : padded_slices(elements, count);
}

/// A region of a part that several ranks share; `first` is the position of the rank with slice 0.
struct shared_region {
    sharding_part const& segment;
    box const& region;
    holder_t first;

    /// Calls `visit(rank, region, flat)` for each rank that has elements of `wanted`.
    ///
    /// \pre the region contains `wanted`
    constexpr void for_each(box const& wanted, auto const& visit) const {
        sharing_ranks const ranks(segment.spread.ranks(), segment.flat->axes);
        index_t const elements = element_count(region);
        flat_slices const slices = slices_of(*segment.flat, elements, ranks.count());
        box const sought = relative_to(wanted, region.offset);
        box const placed = in_tensor(region, segment);
        auto position = next_position(sought, 0, region.shape);
        while (position) {
            index_t const i = slice_of(slices, *position);
            flat_range const range = range_of(slices, elements, i);
            visit(segment.spread.held_by().rank_at(first + ranks.distance(i)), placed,
                  std::optional(range));
            position = next_position(sought, range.end, region.shape);
        }
    }
};

/// Calls `visit(rank, region, flat)` for each shard of a part that has elements of `wanted`.
/// `wanted` is a box of the part in the part's coordinates.
constexpr void for_each_holder_of_part(sharding_part const& segment, box const& wanted,
                                       copies which, auto const& visit) {
    axis_set axes = which == copies::main ? replicating_axes(segment.spread) : axis_set{};
    if (segment.flat)
        axes = static_cast<axis_set>(axes | segment.flat->axes);
    auto const walk = [&](holder_t index, box const& region) {
        if (!segment.flat)
            return visit(segment.spread.held_by().rank_at(index), in_tensor(region, segment),
                         std::optional<flat_range>());
        shared_region{segment, region, index}.for_each(*intersect(region, wanted), visit);
    };
    holder_walk(segment.spread, wanted, axes, walk).run();
}

/// Calls `visit(rank, region, flat)` for each shard that has elements of `wanted`. `flat` is the
/// flat range of `region`, or std::nullopt if it is not cut flat. If blocks are cyclic, the rank
/// has only blocks of the region.
///
/// The time is proportional to the number of calls and to the number of the tensor's parts.
///
/// \pre the tensor contains `wanted`
constexpr void for_each_holder(tensor_sharding const& tensor, box const& wanted, copies which,
                               auto const& visit) {
    BOOST_ASSERT(contains(whole(tensor.shape), wanted));
    for (sharding_part const& segment : tensor.parts) {
        if (segment.is_copy && which == copies::main)
            continue;
        if (auto const common = intersect(wanted, box{segment.offset, segment.spread.shape()}))
            for_each_holder_of_part(segment, relative_to(*common, segment.offset), which, visit);
    }
}

} // namespace detail

/// The ranks that hold elements of `wanted`, in ascending order.
///
/// \pre the tensor contains `wanted`
constexpr vector<holder_t> holders_of(tensor_sharding const& tensor, box const& wanted,
                                      copies which = copies::all) {
    vector<holder_t> ranks;
    detail::for_each_holder(tensor, wanted, which,
                            [&](holder_t rank, box const&, auto const&) { ranks.push_back(rank); });
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

namespace detail {

/// Calls `visit(region, flat, cycles)` for each shard of a rank, in the order of the parts.
///
/// Boxes may be empty, as in FSDP2; flat ranges without elements are omitted.
///
/// \pre the rank is in the mesh, or the ranks are listed
constexpr void for_each_shard(vector<sharding_part> const& parts, index_t rank, auto const& visit) {
    for (sharding_part const& segment : parts) {
        auto const at = segment.spread.held_by().place_of(rank);
        auto const region = at ? segment.spread.region(rank) : std::nullopt;
        if (!region)
            continue;
        std::optional<flat_range> flat;
        if (segment.flat) {
            sharing_ranks const ranks(segment.spread.ranks(), segment.flat->axes);
            index_t const elements = element_count(*region);
            flat = range_of(slices_of(*segment.flat, elements, ranks.count()), elements,
                            ranks.slice_at(*at));
        }
        if (!flat || flat->size() > 0)
            visit(in_tensor(*region, segment), flat, segment.spread.cycles_in(*region));
    }
}

} // namespace detail

/// The shards of a tensor that a rank holds, in the rank's storage order.
///
/// Boxes may be empty, as in FSDP2; flat ranges without elements are omitted.
///
/// \pre the rank is in the mesh, or the ranks are listed
constexpr vector<shard_descriptor> shards_of(tensor_sharding const& tensor, index_t rank) {
    vector<shard_descriptor> shards;
    detail::for_each_shard(
        tensor.parts, rank, [&](box const& region, auto const& flat, auto const& cycles) {
            shards.push_back({tensor.key, tensor.dtype, tensor.shape, region, flat, cycles});
        });
    return shards;
}

namespace detail {

/// All shards of a tensor that have elements, in the order of ranks and then of parts.
constexpr shard_table table_of(tensor_sharding const& tensor) {
    vector<table_shard> table_shards;
    vector<std::pair<holder_t, std::size_t>> order;
    for (sharding_part const& segment : tensor.parts) {
        auto const add = [&](holder_t rank, box const& region,
                             std::optional<flat_range> const& flat) {
            order.emplace_back(rank, table_shards.size());
            table_shards.push_back({rank, region, flat, segment.spread.cycles_in(region)});
        };
        if (box const box = whole(segment.spread.shape()); !is_empty(box))
            for_each_holder_of_part(segment, box, copies::all, add);
    }
    std::sort(order.begin(), order.end());
    shard_table shards(tensor.shape.size());
    for (auto const& [rank, i] : order)
        shards.push_back(table_shards[i]);
    return shards;
}

} // namespace detail

/// The shards of all these tensors that a rank holds, in the order of the tensors.
///
/// \pre the rank is in the mesh
constexpr vector<shard_descriptor> shards_of(vector<tensor_sharding> const& tensors, index_t rank) {
    vector<shard_descriptor> shards;
    for (tensor_sharding const& tensor : tensors)
        for (shard_descriptor& shard : shards_of(tensor, rank))
            shards.push_back(std::move(shard));
    return shards;
}

} // namespace reshard

#endif
