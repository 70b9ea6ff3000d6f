// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_GATHER_LAYOUT_HPP
#define RESHARD_GROUP_GATHER_LAYOUT_HPP

#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/layout/layout.hpp>

#include <string>
#include <vector>

/// \file
/// Every rank tells all others what it holds.

namespace reshard {

namespace detail {

/// What `gather_layout` returns, for ranks that are agreed on what they do.
///
/// \par Collective every rank of the group, in the same order
template <group Group>
layout layout_of_all(Group const& world, std::vector<shard_descriptor> const& held) {
    return layout_of(gather_values(world, held));
}

} // namespace detail

/// The layout of what all ranks hold together, equal on every rank.
///
/// \par Collective every rank of the group, in the same order
/// \post   rank `r` is holder `r` of the result
/// \throws error as `layout_of`, on every rank alike: one key with two global shapes or data types;
///         errc::ranks_disagree where ranks do something else
template <group Group>
layout gather_layout(Group const& world, std::vector<shard_descriptor> const& held) {
    detail::agree_to_run(world, "gather_layout", 0);
    return detail::layout_of_all(world, held);
}

} // namespace reshard

#endif
