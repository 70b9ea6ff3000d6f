// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_COMPACT_LAYOUT_HPP
#define RESHARD_SERIALIZATION_COMPACT_LAYOUT_HPP

#include <reshard/serialization/layout.hpp>
#include <reshard/shard/compact_layout.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

/// \file
/// Layouts by placements in archives: some hundred bytes a way of spreading, and each key once.

namespace reshard {

template <>
inline constexpr stored_form form_of<placement>{"placement"};
template <>
inline constexpr stored_form form_of<held_axis>{"axis of a grid"};
template <>
inline constexpr stored_form form_of<tensor_spread>{"way of spreading"};
template <>
inline constexpr stored_form form_of<compact_tensor>{"tensor"};
template <>
inline constexpr stored_form form_of<compact_layout>{"compact layout", 7, 1};

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

/// The shape; then the first holder and the axes of a grid, or a table.
template <class Archive>
void write_to(Archive& archive, tensor_spread const& spread) {
    auto const* const grid = std::get_if<shard_grid>(&spread.shards);
    archive << spread.shape << (grid != nullptr);
    if (!grid) {
        archive << std::get<shard_table>(spread.shards);
        return;
    }
    archive << grid->first_holder();
    detail::write_list(archive, detail::held_axes(*grid));
}

/// A way of spreading as it is; the layout checks a table.
///
/// \throws error with errc::corrupt_file where a grid contradicts itself
template <class Archive>
void read_from(Archive& archive, tensor_spread& spread) {
    archive >> spread.shape;
    detail::check_tensor("a tensor", data_type::u8, spread.shape);
    if (!detail::read_bool(archive)) {
        shard_table table;
        archive >> table;
        spread.shards = std::move(table);
        return;
    }
    auto const first = detail::read_number<holder_t>(archive);
    auto const axes = detail::read_list<held_axis>(archive);
    detail::end_of_holders(first, axes); // then no extent is 0
    detail::check_placements(spread.shape, axes);
    spread.shards = shard_grid(spread.shape, first, axes);
}

/// Key, data type, number of its way of spreading.
template <class Archive>
void write_to(Archive& archive, compact_tensor const& tensor) {
    detail::write_text(archive, tensor.key);
    detail::write_dtype(archive, tensor.dtype);
    archive << tensor.spread;
}

/// A tensor as it is; the layout checks it.
template <class Archive>
void read_from(Archive& archive, compact_tensor& tensor) {
    tensor.key = detail::read_text(archive);
    tensor.dtype = detail::read_dtype(archive);
    archive >> tensor.spread;
}

/// The number of holders, then each way of spreading, then each tensor.
template <class Archive>
void write_to(Archive& archive, compact_layout const& all) {
    archive << all.holders;
    detail::write_list(archive, all.spreads);
    detail::write_list(archive, all.tensors);
}

namespace detail {

/// \throws error where shards are not parts of their tensor, or of holders that there are not
inline void check_stored(tensor_spread const& spread, holder_t holders) {
    if (auto const* const table = std::get_if<shard_table>(&spread.shards))
        return check_stored({"a tensor", data_type::u8, spread.shape, *table}, holders);
    shard_grid const& grid = std::get<shard_grid>(spread.shards);
    if (end_of_holders(grid.first_holder(), held_axes(grid)) > holders)
        refuse_archive("has shards on " + std::to_string(grid.holder(grid.size() - 1) + 1) +
                       " ranks of " + std::to_string(holders));
}

} // namespace detail

/// \throws error with errc::corrupt_file or errc::bad_layout where the invariants of a layout do
///         not hold
template <class Archive>
void read_from(Archive& archive, compact_layout& all) {
    archive >> all.holders;
    all.spreads = detail::read_list<tensor_spread>(archive);
    all.tensors = detail::read_list<compact_tensor>(archive);
    detail::check_sorted(all.tensors);
    for (tensor_spread const& spread : all.spreads)
        detail::check_stored(spread, all.holders);
    for (compact_tensor const& tensor : all.tensors) {
        if (tensor.spread >= all.spreads.size())
            detail::refuse_archive("has '" + tensor.key + "' spread in way " +
                                   std::to_string(tensor.spread) + " of " +
                                   std::to_string(all.spreads.size()));
        detail::check_tensor(tensor.key, tensor.dtype, all.spread_of(tensor).shape);
    }
}

} // namespace reshard

#endif
