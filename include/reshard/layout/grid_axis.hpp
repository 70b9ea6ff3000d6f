// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_GRID_AXIS_HPP
#define RESHARD_LAYOUT_GRID_AXIS_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/config.hpp>
#include <reshard/layout/holder.hpp>
#include <reshard/layout/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// One axis of a grid of shards, by strides.

namespace reshard::detail {

/// What is wrong with placements of a tensor on a mesh.
struct placement_fault {
    enum class kind {
        count,         ///< not one placement for each axis of the mesh
        coordinate,    ///< `only` at a coordinate that the mesh axis does not have
        axis,          ///< a cut along an axis that the tensor does not have
        uneven,        ///< an even split that leaves a remainder
        size_count,    ///< not one size for each rank along the mesh axis
        negative_size, ///< a size below zero
        size_sum,      ///< sizes that do not sum to the extent
        block,         ///< blocks without elements
        dealt_out,     ///< a cut of an axis whose blocks another mesh axis has dealt out
    };

    kind what{};
    std::size_t mesh_axis = 0;
    index_t wanted = 0; ///< what the placement asks for
    index_t there = 0;  ///< what mesh or tensor have

    constexpr bool operator==(placement_fault const&) const = default;
};

/// A half-open interval of one axis, as first element and extent.
struct interval {
    index_t offset;
    index_t extent;
};

/// From the first of the blocks that part `i` of `count` has to the last one.
///
/// \pre `block > 0`
constexpr interval interval_of_blocks(index_t block, index_t extent, index_t count, index_t i) {
    index_t const blocks = extent / block + (extent % block != 0);
    if (i >= blocks)
        return {extent, 0};
    index_t const last = (i + (blocks - 1 - i) / count * count) * block;
    return {i * block, last + std::min(block, extent - last) - i * block};
}

/// Adds the cycle that a placement of blocks on `count` ranks makes of a region, where there are
/// several of its blocks.
///
/// \pre no other placement cuts a part of the axis
constexpr void add_cycle(axis_cycles& cycles, placement const& how, index_t count,
                         box const& region) {
    if (how.what != placement::kind::cyclic || count == 1 || region.shape[how.axis] <= how.block)
        return;
    cycles.push_back({how.axis, how.block, how.block * count});
    std::sort(cycles.begin(), cycles.end());
}

/// Part `i` of an extent cut into `count`; parts behind the end are empty. Where blocks are dealt
/// out, all from the first to the last one of the part.
constexpr interval interval_of(placement const& how, index_t extent, index_t count, index_t i) {
    if (how.what == placement::kind::sizes) {
        interval result{0, how.sizes[static_cast<std::size_t>(i)]};
        for (index_t before = 0; before < i; ++before)
            result.offset += how.sizes[static_cast<std::size_t>(before)];
        return result;
    }
    if (how.what == placement::kind::cyclic)
        return interval_of_blocks(how.block, extent, count, i);
    index_t const most = extent / count + (extent % count != 0);
    if (most == 0 || i > extent / most)
        return {extent, 0};
    return {i * most, std::min(most, extent - i * most)};
}

/// What keeps the sizes of `how` from being those of `count` parts of an extent, or nothing.
constexpr std::optional<placement_fault>
find_size_fault(placement const& how, std::size_t mesh_axis, index_t extent, index_t count) {
    using kind = placement_fault::kind;
    auto const sizes = static_cast<index_t>(how.sizes.size());
    if (sizes != count)
        return placement_fault{kind::size_count, mesh_axis, sizes, count};
    index_t sum = 0;
    for (index_t const size : how.sizes) {
        if (size < 0)
            return placement_fault{kind::negative_size, mesh_axis, size, extent};
        if (size > std::numeric_limits<index_t>::max() - sum)
            return placement_fault{kind::size_sum, mesh_axis, size, extent};
        sum += size;
    }
    if (sum != extent)
        return placement_fault{kind::size_sum, mesh_axis, sum, extent};
    return std::nullopt;
}

/// What keeps the blocks of `how` from being dealt out, or nothing.
constexpr std::optional<placement_fault> find_block_fault(placement const& how,
                                                          std::size_t mesh_axis) {
    if (how.what == placement::kind::cyclic && how.block < 1)
        return placement_fault{placement_fault::kind::block, mesh_axis, how.block, 1};
    return std::nullopt;
}

/// What keeps `how` from cutting each of `extents`; then these are what the cut leaves, each once.
constexpr std::optional<placement_fault> cut_extents(placement const& how, std::size_t mesh_axis,
                                                     index_t count, std::vector<index_t>& extents) {
    std::vector<index_t> left;
    for (index_t const extent : extents) {
        if (how.what == placement::kind::sizes) {
            if (auto const fault = find_size_fault(how, mesh_axis, extent, count))
                return fault;
            left.insert(left.end(), how.sizes.begin(), how.sizes.end());
            continue;
        }
        if (how.what == placement::kind::even && extent % count != 0)
            return placement_fault{placement_fault::kind::uneven, mesh_axis, count, extent};
        index_t const most = interval_of(how, extent, count, 0).extent;
        index_t const shorter = most == 0 ? 0 : std::min(extent / most, count - 1);
        for (index_t const i : {index_t{0}, shorter, count - 1})
            left.push_back(interval_of(how, extent, count, i).extent);
    }
    std::sort(left.begin(), left.end());
    left.erase(std::unique(left.begin(), left.end()), left.end());
    extents = std::move(left);
    return std::nullopt;
}

/// The first thing that keeps a tensor of that shape from being placed so, or nothing.
///
/// \pre no extent of the tensor is negative
constexpr std::optional<placement_fault> find_fault(index_vector const& mesh_shape,
                                                    std::vector<placement> const& placements,
                                                    index_vector const& shape) {
    using kind = placement_fault::kind;
    if (placements.size() != mesh_shape.size())
        return placement_fault{kind::count, 0, static_cast<index_t>(placements.size()),
                               static_cast<index_t>(mesh_shape.size())};
    index_vector dealt_out = index_vector::filled(shape.size(), 0); // by whom, from 1 on
    std::vector<std::vector<index_t>> extents;
    for (index_t const extent : shape)
        extents.push_back({extent});
    for (index_t const ordinal : cut_order(placements)) {
        auto const i = static_cast<std::size_t>(ordinal);
        placement const& how = placements[i];
        if (how.what == placement::kind::only &&
            (how.coordinate < 0 || how.coordinate >= mesh_shape[i]))
            return placement_fault{kind::coordinate, i, how.coordinate, mesh_shape[i]};
        if (!how.cuts())
            continue;
        if (how.axis >= shape.size())
            return placement_fault{kind::axis, i, static_cast<index_t>(how.axis),
                                   static_cast<index_t>(shape.size())};
        if (dealt_out[how.axis])
            return placement_fault{kind::dealt_out, i, static_cast<index_t>(how.axis),
                                   dealt_out[how.axis] - 1};
        if (auto const fault = find_block_fault(how, i))
            return fault;
        if (how.what == placement::kind::cyclic)
            dealt_out[how.axis] = ordinal + 1;
        else if (auto const fault = cut_extents(how, i, mesh_shape[i], extents[how.axis]))
            return fault;
    }
    return std::nullopt;
}

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

/// Leaves of `held` part `i` along the axis.
constexpr void cut_part(box& held, grid_axis const& axis, index_t i) {
    index_t& offset = held.offset[axis.how.axis];
    index_t& extent = held.shape[axis.how.axis];
    if (!axis.begins.empty()) {
        auto const bounds = axis.begins.begin() + static_cast<std::ptrdiff_t>(i);
        offset += *bounds;
        extent = bounds[1] - bounds[0];
        return;
    }
    auto const share = interval_of(axis.how, extent, axis.extent, i);
    offset += share.offset;
    extent = share.extent;
}

/// The first part of `held` along the axis that may reach behind `begin`.
constexpr index_t first_part(box const& held, grid_axis const& axis, index_t begin) {
    index_t const from = begin - held.offset[axis.how.axis];
    index_t const extent = held.shape[axis.how.axis];
    if (from <= 0 || extent == 0)
        return 0;
    if (axis.begins.empty())
        return from / (extent / axis.extent + (extent % axis.extent != 0));
    auto const behind = std::upper_bound(axis.begins.begin(), axis.begins.end(), from);
    return behind - axis.begins.begin() - 1;
}

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
