// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_GRID_AXIS_HPP
#define RESHARD_LAYOUT_GRID_AXIS_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/holder.hpp>
#include <reshard/layout/placement.hpp>

#include <vector>

/// \file
/// One axis of a grid of shards, by strides.

namespace reshard::detail {

/// A mesh axis that a tensor is on: what it does, its ranks, and how far they are apart.
struct held_axis {
    placement how; ///< replicates or cuts
    index_t extent = 1;
    index_t holder_stride = 1;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.how, self.extent, self.holder_stride);
    }
};

/// A placement that copies or cuts; whether it fits, only the tensor can tell.
///
/// \throws error with errc::bad_layout for one that keeps the tensor in one place
constexpr void validate(held_axis const& axis) {
    using kind = placement::kind;
    placement const& how = axis.how;
    if (how.what == kind::only || how.axis >= max_ndim || how.coordinate != 0 ||
        (how.what != kind::sizes && !how.sizes.empty()) ||
        (how.what != kind::cyclic && how.block != 0))
        fail(errc::bad_layout, "it has the placement " + to_string(how) + " along a mesh axis");
}

/// One axis of a grid of shards.
struct grid_axis {
    placement how;                 ///< replicates or cuts
    index_t extent = 1;            ///< how many shards stand along it
    index_t holder_stride = 1;     ///< from the holder of one shard to that of the next
    index_t shard_stride = 1;      ///< from the number of one shard to that of the next
    index_t part_stride = 1;       ///< from one box to the next, or from one replica
    std::vector<index_t> begins{}; ///< of the parts, where sizes are given; one more than parts

    constexpr index_t along(index_t number, index_t stride) const {
        return number / stride % extent;
    }
    constexpr bool operator==(grid_axis const&) const = default;
};

/// What a `shard_grid` is given.
struct grid_recipe {
    index_vector shape;
    holder_t first_holder = 0;
    std::vector<held_axis> axes; ///< the fastest first

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.shape, self.first_holder, self.axes);
    }
};

/// The holder behind the last one of a grid.
///
/// \throws error with errc::bad_layout where two shards have one holder, or there are too many
RESHARD_DECL index_t end_of_holders(grid_recipe const& grid);

/// \throws error with errc::bad_layout or errc::overflow where there can be no such tensor, or
///         where holders or placements do not fit
RESHARD_DECL void validate(grid_recipe const& grid);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/grid_axis.ipp>
#endif

#endif
