// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_RANK_GROUP_HPP
#define RESHARD_MODEL_RANK_GROUP_HPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/holders_of.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

/// \file
/// Ranks that differ only along some axes of a mesh: tensor-parallel groups and similar groups.

namespace reshard::detail {

/// The index of the axis with this name, or std::nullopt.
constexpr std::optional<std::size_t> find_axis(mesh const& ranks, std::string_view name) {
    for (std::size_t i = 0; i < ranks.ndim(); ++i)
        if (ranks.all_axes[i].name() == name)
            return i;
    return std::nullopt;
}

} // namespace reshard::detail

namespace reshard::model {

/// The axes with these names.
///
/// \throws error with errc::bad_layout for a name that the mesh does not have
constexpr detail::axis_set axes_named(mesh const& ranks,
                                      std::initializer_list<std::string_view> names) {
    unsigned axes = 0;
    for (std::string_view const name : names)
        axes |= 1u << ranks.axis(name);
    return static_cast<detail::axis_set>(axes);
}

/// The coordinate of a rank along an axis.
///
/// \pre    `rank < ranks.rank_count()`
/// \throws error with errc::bad_layout for a name that the mesh does not have
constexpr index_t coordinate_of(mesh const& ranks, index_t rank, std::string_view axis) {
    return ranks.coordinates_of(rank)[ranks.axis(axis)];
}

/// The ranks that have the same coordinates as `rank` except along `axes`, ascending.
///
/// \pre `rank < ranks.rank_count()`
constexpr vector<holder_t> group_of(mesh const& ranks, index_t rank, detail::axis_set axes) {
    index_vector const at = ranks.coordinates_of(rank);
    vector<placement> placements(ranks.ndim());
    for (std::size_t i = 0; i < ranks.ndim(); ++i)
        if (!detail::has_axis(axes, i))
            placements[i] = only{at[i]};
    return holders_of(distribution(ranks, std::move(placements), {}), box{});
}

} // namespace reshard::model

namespace reshard::detail {} // namespace reshard::detail

namespace reshard::model {

/// The mesh with `axis` split into two axes. `axis` then counts the `outer` groups, and the next
/// axis, named `inner_name`, counts the ranks of a group.
///
/// No rank changes its number.
///
/// \throws error with errc::bad_layout if `outer` does not divide the axis's extent
constexpr mesh split_axis(mesh const& ranks, std::string_view axis, index_t outer,
                          std::string_view inner_name) {
    std::size_t const index = ranks.axis(axis);
    vector<mesh_axis> axes(ranks.axes().begin(), ranks.axes().end());
    index_t const extent = axes[index].extent;
    if (outer < 1 || extent % outer != 0)
        fail(errc::bad_layout, "mesh axis '", axis, "' of ", detail::counted(extent, "rank"),
             " cannot be split into ", detail::counted(outer, "equal group"));
    axes[index].extent = outer;
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                mesh_axis(inner_name, extent / outer));
    return mesh(axes);
}

/// The mesh with `axis` and the next axis joined into one axis, named `name`.
///
/// No rank changes its number.
///
/// \throws error with errc::bad_layout if no axis follows `axis`
constexpr mesh join_axes(mesh const& ranks, std::string_view axis, std::string_view name) {
    std::size_t const index = ranks.axis(axis);
    if (index + 1 == ranks.ndim())
        fail(errc::bad_layout, "the mesh ", ranks, " has no axis after '", axis,
             "' to join it with");
    vector<mesh_axis> axes(ranks.axes().begin(), ranks.axes().end());
    auto const second = axes.begin() + static_cast<std::ptrdiff_t>(index) + 1;
    axes[index] = mesh_axis(name, axes[index].extent * second->extent);
    axes.erase(second);
    return mesh(axes);
}

} // namespace reshard::model

#endif
