// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_SHARD_GRID_HPP
#define RESHARD_SERIALIZATION_SHARD_GRID_HPP

#include <reshard/serialization/layout.hpp>
#include <reshard/layout/grid_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Shards by arithmetic in archives: what makes a grid, and none of its shards.

namespace reshard {

template <>
inline constexpr stored_form form_of<placement>{"placement"};
template <>
inline constexpr stored_form form_of<held_axis>{"axis of a grid"};
template <>
inline constexpr stored_form form_of<grid_sharing>{"sharing of boxes"};

/// What it does, to which axis, whether it is strided, and sizes where there are some.
template <class Archive>
void write_to(Archive& archive, placement const& how) {
    archive << static_cast<std::uint8_t>(how.what) << static_cast<std::uint8_t>(how.axis)
            << how.strided;
    detail::write_list(archive, how.sizes);
}

/// A placement that copies or cuts; whether it fits, only the tensor can tell.
///
/// \throws error with errc::corrupt_file for one that keeps the tensor in one place
template <class Archive>
void read_from(Archive& archive, placement& how) {
    using kind = placement::kind;
    how.what = static_cast<kind>(detail::read_below<std::uint8_t>(archive, 5, "the placement"));
    how.axis = detail::read_below<std::uint8_t>(archive, max_ndim, "the axis");
    how.strided = detail::read_bool(archive);
    how.sizes = detail::read_list<index_t>(archive);
    if (how.what == kind::only || (how.what != kind::sizes && !how.sizes.empty()))
        detail::refuse_archive("has the placement " + to_string(how) + " along a mesh axis");
}

template <class Archive>
void write_to(Archive& archive, held_axis const& axis) {
    archive << axis.how << axis.extent << axis.holder_stride;
}

template <class Archive>
void read_from(Archive& archive, held_axis& axis) {
    archive >> axis.how >> axis.extent >> axis.holder_stride;
}

/// The axes; then whether slices are given, and those.
template <class Archive>
void write_to(Archive& archive, grid_sharing const& sharing) {
    detail::write_list(archive, sharing.axes);
    archive << sharing.slices.has_value();
    if (sharing.slices)
        archive << sharing.slices->begin << sharing.slices->length;
}

/// A sharing as it is; whether it fits, only the grid can tell.
template <class Archive>
void read_from(Archive& archive, grid_sharing& sharing) {
    sharing.axes = detail::read_list<std::uint8_t>(archive);
    if (!detail::read_bool(archive))
        return;
    sharing.slices.emplace();
    archive >> sharing.slices->begin >> sharing.slices->length;
}

namespace detail {

/// The axes of a grid, the fastest first.
inline std::vector<held_axis> held_axes(shard_grid const& grid) {
    std::vector<held_axis> axes;
    for (std::size_t i = grid.axes().size(); i-- > 0;)
        axes.push_back({grid.axes()[i].how, grid.axes()[i].extent, grid.axes()[i].holder_stride});
    return axes;
}

/// The holder behind the last one of a grid of these axes.
///
/// \throws error with errc::corrupt_file where two shards have one holder, or there are too many
inline index_t end_of_holders(holder_t first, std::vector<held_axis> const& axes) {
    constexpr index_t most = std::numeric_limits<std::int32_t>::max(); // as a mesh has
    index_t last = 0;
    for (held_axis const& axis : axes) {
        if (axis.extent < 2 || axis.holder_stride <= last || axis.extent > most ||
            axis.holder_stride > most || axis.extent * axis.holder_stride > most)
            refuse_archive("has a grid of " + std::to_string(axis.extent) + " groups of ranks, " +
                           std::to_string(axis.holder_stride) + " ranks apart, but a group has " +
                           std::to_string(last + 1) + " ranks");
        last += (axis.extent - 1) * axis.holder_stride;
    }
    return first + last + 1;
}

/// \throws error with errc::corrupt_file where placements do not fit the tensor
inline void check_placements(index_vector const& shape, std::vector<held_axis> const& axes) {
    index_vector extents;
    std::vector<placement> placements;
    if (axes.size() > max_ndim)
        refuse_archive("has a grid of " + std::to_string(axes.size()) + " axes, of " +
                       std::to_string(max_ndim) + " at most");
    for (std::size_t i = axes.size(); i-- > 0;) {
        extents.push_back(axes[i].extent);
        placements.push_back(axes[i].how);
    }
    if (find_fault(extents, placements, shape))
        refuse_archive("has placements that do not fit a tensor of shape " + to_string(shape));
}

} // namespace detail

namespace detail {

/// The first holder and the axes; its shape stands before it.
template <class Archive>
void write_grid(Archive& archive, shard_grid const& grid) {
    archive << grid.first_holder();
    write_list(archive, held_axes(grid));
}

/// \throws error with errc::corrupt_file where a grid contradicts itself
template <class Archive>
shard_grid read_grid(Archive& archive, index_vector const& shape) {
    auto const first = read_number<holder_t>(archive);
    auto const axes = read_list<held_axis>(archive);
    end_of_holders(first, axes); // then no extent is 0
    check_placements(shape, axes);
    return {shape, first, axes};
}

/// The elements of the largest box of a grid.
inline index_t largest_box(shard_grid const& grid) {
    index_t number = 0;
    for (grid_axis const& axis : grid.axes()) {
        auto const& sizes = axis.how.sizes; // elsewhere the first part is the largest
        auto const most = std::max_element(sizes.begin(), sizes.end());
        if (axis.how.cuts())
            number += (most - sizes.begin()) * axis.part_stride;
    }
    return element_count(grid.box_at(static_cast<std::size_t>(number)));
}

/// The number of ranks that share a box.
///
/// \throws error with errc::corrupt_file where the grid does not copy along an axis of them
inline index_t count_sharing(shard_grid const& grid, std::vector<std::uint8_t> const& axes) {
    index_t count = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i] >= grid.axes().size() || (i > 0 && axes[i] <= axes[i - 1]) ||
            grid.axes()[axes[i]].how.cuts())
            refuse_archive("has flat slices along axis " + std::to_string(axes[i]) +
                           " of a grid, which has no copies there");
        count *= grid.axes()[axes[i]].extent;
    }
    return count;
}

/// \throws error with errc::corrupt_file where slices do not hold the boxes that they are of
inline void check_sharing(shard_grid const& grid, grid_sharing const& sharing) {
    index_t const count = count_sharing(grid, sharing.axes), elements = largest_box(grid);
    if (!sharing.slices)
        return;
    auto const [begin, length] = *sharing.slices;
    if (begin < 0 || length < 0 || length > std::numeric_limits<index_t>::max() / count ||
        begin > count * length - elements)
        refuse_archive("has " + std::to_string(elements) + " elements from element " +
                       std::to_string(begin) + " of a buffer on in " + std::to_string(count) +
                       " slices of " + std::to_string(length));
}

/// \throws error with errc::corrupt_file where grids leave the tensor, overlap, or are none
inline void check_apart(std::vector<flat_grid> const& grids, index_vector const& shape) {
    if (grids.empty())
        refuse_archive("has a list of no grids");
    auto const place = [](flat_grid const& one) { return box{one.offset(), one.grid().shape()}; };
    for (std::size_t i = 0; i < grids.size(); ++i) {
        if (grids[i].offset().size() != shape.size() || !contains(whole(shape), place(grids[i])))
            refuse_archive("has a grid of shape " + to_string(grids[i].grid().shape()) +
                           " at offset " + to_string(grids[i].offset()) +
                           ", which leaves a tensor of shape " + to_string(shape));
        for (std::size_t k = 0; k < i; ++k)
            if (auto const common = intersect(place(grids[i]), place(grids[k])))
                refuse_archive("has grids that share the elements " + to_string(*common));
    }
}

/// Where each lies, what it is, and how its boxes are shared.
template <class Archive>
void write_grids(Archive& archive, std::vector<flat_grid> const& grids) {
    write_count(archive, grids.size());
    for (flat_grid const& one : grids) {
        archive << one.offset() << one.grid().shape();
        write_grid(archive, one.grid());
        archive << one.sharing().has_value();
        if (one.sharing())
            archive << *one.sharing();
    }
}

template <class Archive>
flat_grid read_flat_grid(Archive& archive) {
    index_vector offset, shape;
    archive >> offset >> shape;
    check_tensor("a grid", data_type::u8, shape);
    if (!is_sound({offset, shape}))
        refuse_archive("has a grid of shape " + to_string(shape) + " at offset " +
                       to_string(offset));
    shard_grid grid = read_grid(archive, shape);
    if (!read_bool(archive))
        return {offset, std::move(grid)};
    grid_sharing sharing;
    archive >> sharing;
    check_sharing(grid, sharing);
    return {offset, std::move(grid), std::move(sharing)};
}

/// \throws error with errc::corrupt_file where grids contradict themselves, or each other
template <class Archive>
grid_list read_grids(Archive& archive, index_vector const& shape) {
    std::vector<flat_grid> grids;
    for (auto left = read_number<std::uint64_t>(archive); left > 0; --left)
        grids.push_back(read_flat_grid(archive));
    check_apart(grids, shape);
    return grid_list(std::move(grids));
}

} // namespace detail

} // namespace reshard

#endif
