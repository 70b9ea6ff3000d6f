// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_FULLY_SHARD_HPP
#define RESHARD_MODEL_FULLY_SHARD_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/sharding.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

/// \file
/// FSDP2: the ranks of a mesh axis cut an axis of every tensor, in addition to earlier cuts.

namespace reshard::detail {

/// True if a mesh axis after `mesh_axis` cuts axis `tensor_axis` of the tensor.
constexpr bool is_cut_behind(distribution const& distribution, std::size_t mesh_axis,
                             std::size_t tensor_axis) {
    for (std::size_t i = mesh_axis + 1; i < distribution.placements().size(); ++i)
        if (distribution.placements()[i].cuts() && distribution.placements()[i].axis == tensor_axis)
            return true;
    return false;
}

} // namespace reshard::detail

namespace reshard::model {

/// Changes a distribution: the ranks along `mesh_axis` cut the region that each of them would
/// otherwise hold whole.
///
/// Along axis 0, extents are rounded up, and the last ranks hold shorter or empty shards. Along
/// another axis, the number of ranks must divide the extent. If tensor parallelism cuts the same
/// axis, it cuts first, and the result is a strided shard. If the mesh has two data-parallel axes
/// and `mesh_axis` is one of them, the result is HSDP.
///
/// \throws     error with errc::bad_layout for a scalar, for an axis that does not exist or cannot
///             be divided, and for a mesh axis that does not replicate; the message names key, axis
///             and both numbers
/// \par Source `fully_shard` of PyTorch
constexpr distribution fully_shard(distribution const& distribution, std::string_view mesh_axis,
                                   std::string_view key = "a tensor", std::size_t axis = 0) {
    std::size_t const i = distribution.ranks().axis(mesh_axis);
    vector<placement> placements = distribution.placements();
    if (distribution.shape().empty())
        fail(errc::bad_layout, "'", key,
             "': a scalar cannot be fully sharded; give it one axis of extent 1");
    if (placements[i].type != placement::kind::replicate)
        fail(errc::bad_layout, "'", key, "': cannot fully shard over mesh axis '", mesh_axis,
             "': its placement must be replicate, not ", placements[i]);
    detail::split_rule const rule = axis == 0 ? detail::split_rule::ceil : detail::split_rule::even;
    placements[i] = detail::is_cut_behind(distribution, i, axis)
                        ? placement(strided_shard{axis, rule})
                        : placement(shard{axis, rule});
    return {distribution.ranks(), std::move(placements), distribution.shape(), key};
}

/// The same for a tensor that has one part, or copies of one part.
///
/// \throws error with errc::bad_layout as above, and for a tensor with several parts
RESHARD_DECL tensor_sharding fully_shard(tensor_sharding tensor, std::string_view mesh_axis,
                                         std::size_t axis = 0);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/fully_shard.ipp>
#endif

#endif
