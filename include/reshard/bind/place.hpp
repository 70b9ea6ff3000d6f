// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_PLACE_HPP
#define RESHARD_BIND_PLACE_HPP

#include <reshard/core/strides.hpp>
#include <reshard/layout/tensor_shards.hpp>

/// \file
/// From global coordinates to a place in the memory of a shard.

namespace reshard::detail {

/// Where the elements of a box lie in a shard's memory.
///
/// \par Units elements, from the view's first one
struct memory_place {
    index_t offset = 0;
    index_vector strides;

    static constexpr void members(auto& self, auto&& visit) { visit(self.offset, self.strides); }

    bool operator==(memory_place const&) const = default;
};

/// The place of the element at `global` and the strides along the global axes from there on.
///
/// \par Shape  `view_strides` has one number an axis, or one in all where the shard is a flat range
/// \pre        `global` lies in the shard; for a flat range, the box that begins there lies in one
///             part, and in one block where the shard is blocks
/// \tparam     Shards `shard_table` or `tensor_shards`
template <class Shards>
memory_place place_in_shard(Shards const& shards, std::size_t shard, index_vector const& global,
                            index_vector const& view_strides) {
    box const region = shards.region(shard);
    index_vector local = global;
    for (std::size_t axis = 0; axis < local.size(); ++axis)
        local[axis] -= region.offset[axis];
    auto const flat = shards.flat(shard);
    if (!flat)
        return {linear_offset(held_index(shards.cycles(shard), local), view_strides), view_strides};
    index_t const step = view_strides[0];
    memory_place place{(ravel_index(local, region.shape) - flat->begin) * step,
                       row_major_strides(region.shape)};
    for (index_t& stride : place.strides)
        stride *= step;
    return place;
}

} // namespace reshard::detail

#endif
