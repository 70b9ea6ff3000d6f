// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_CHECK_WORLD_HPP
#define RESHARD_GROUP_CHECK_WORLD_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/hasher.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/mesh.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// Is a layout made for as many ranks as there are?

namespace reshard::detail {

/// `what` is for `wanted` ranks; the group has another number of them.
RESHARD_DECL void check_ranks(std::string_view what, std::size_t wanted, int there);

/// Refuses a mesh of more or fewer ranks than the group has, and meshes that differ among ranks.
///
/// \par Collective every rank of the group, in the same order
/// \throws error with errc::bad_layout that names the mesh and both numbers, or
///         errc::ranks_disagree; on every rank alike
template <group Group>
void check_world(Group const& world, mesh const& ranks) {
    hasher digest;
    for (mesh_axis const& axis : ranks.axes()) {
        digest.add(axis.name());
        digest.add(static_cast<std::uint64_t>(axis.extent));
    }
    agree_to_run(world, "check_world", digest.value(), attempt([&] {
                     check_ranks("the mesh " + to_string(ranks), ranks.rank_count(), world.size());
                 }));
}

/// Refuses a layout of more or fewer ranks than the group has.
///
/// \par Collective every rank of the group, in the same order
/// \throws error with errc::bad_layout that names both numbers, or errc::ranks_disagree where ranks
///         do something else; on every rank alike
template <group Group>
void check_world(Group const& world, layout const& held) {
    agree_to_run(world, "check_world of a layout", 0, attempt([&] {
                     check_ranks("a layout of " + std::to_string(held.tensors.size()) +
                                     (held.tensors.size() == 1 ? " tensor" : " tensors"),
                                 held.holders, world.size());
                 }));
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/check_world.ipp>
#endif

#endif
