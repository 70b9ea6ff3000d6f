// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_SIDE_LAYOUT_HPP
#define RESHARD_BRIDGE_SIDE_LAYOUT_HPP

#include <reshard/bind/job.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/group/solo.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The layout of all ranks of one program.

namespace reshard::detail {

/// The layout of one side, on every rank of its program.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank: an error from adding a tensor; as `layout_of`; errc::bad_layout for
///         a layout of more ranks
template <class View>
layout layout_of_side(any_group const& world, side<View> const& side, std::string_view noun) {
    local_error const problem = attempt([&] { side.tensors.check(); });
    agree_to_run(world, "make the " + std::string(noun) + " of a bridge", 0, problem);
    layout layout = layout_of_ranks(world, side.layout, side.tensors.descriptors(), noun);
    if (layout.holders > static_cast<holder_t>(world.size()))
        fail(errc::bad_layout, "the layout of the ", noun, " is for ", layout.holders,
             " ranks, and the group has ", world.size());
    return layout;
}

} // namespace reshard::detail

#endif
