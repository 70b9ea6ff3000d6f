// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_MESH_HPP
#define RESHARD_LAYOUT_MESH_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/holder.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Ranks arranged in a grid with named axes.

namespace reshard {

/// One axis of a mesh: `tp=4`.
///
/// A structural type, so that a mesh may be a template argument. Therefore names are short.
struct mesh_axis {
    char characters[32] = {}; ///< the name, padded with zeros; use `name()`
    index_t extent = 1;       ///< the number of ranks along the axis

    constexpr mesh_axis() = default;

    /// An axis with that name and `ranks` ranks.
    ///
    /// \throws error with errc::limit_exceeded for a name of more than 31 characters
    constexpr mesh_axis(std::string_view name, index_t ranks) : extent(ranks) {
        if (name.size() >= std::size(characters))
            fail(errc::limit_exceeded, "the mesh axis '", name, "' has a name of ", name.size(),
                 " characters; at most 31 are allowed");
        std::copy(name.begin(), name.end(), characters);
    }

    constexpr std::string_view name() const { return characters; }

    constexpr bool operator==(mesh_axis const&) const = default;
};

/// The ranks of a layout as a grid. For example, `pp=2 tp=3` has six ranks, and rank 1 is at pp 0,
/// tp 1.
///
/// Ranks are numbered in row-major order: neighbours along the last axis have consecutive numbers.
/// A mesh without axes has one rank.
///
/// \invariant names are distinct and not empty, extents are at least 1, at most `max_ndim` axes
/// \par Source device meshes of PyTorch and ProcessMesh of PaddlePaddle, over ranks 0, 1, 2, ...
struct mesh {
    mesh_axis all_axes[max_ndim] = {}; ///< empty from `count` on; use `axes()`
    std::size_t count = 0;

    constexpr mesh() = default;

    /// A mesh with these axes; the last axis runs fastest.
    ///
    /// \throws error with errc::bad_layout for an axis that violates the invariant, with
    ///         errc::limit_exceeded for too many axes or more than 2^31 - 1 ranks
    constexpr explicit mesh(std::span<mesh_axis const> axes) {
        if (axes.size() > max_ndim)
            fail(errc::limit_exceeded, "a mesh has ", axes.size(), " axes; at most ", max_ndim,
                 " are allowed");
        for (mesh_axis const& axis : axes)
            push_back(axis);
    }
    constexpr mesh(std::initializer_list<mesh_axis> axes)
        : mesh(std::span<mesh_axis const>(axes.begin(), axes.size())) {}

    constexpr std::size_t ndim() const { return count; }
    constexpr std::span<mesh_axis const> axes() const { return {all_axes, count}; }

    /// The extents of the axes.
    constexpr index_vector shape() const {
        index_vector extents;
        for (mesh_axis const& axis : axes())
            extents.push_back(axis.extent);
        return extents;
    }

    /// The number of ranks: the product of the extents.
    constexpr holder_t rank_count() const { return static_cast<holder_t>(element_count(shape())); }

    /// The coordinates of a rank, one for each axis.
    ///
    /// \pre  `0 <= rank && rank < rank_count()`
    /// \post `rank_at(coordinates_of(rank)) == rank`
    constexpr index_vector coordinates_of(index_t rank) const {
        return detail::unravel_index(rank, shape());
    }

    /// The rank at these coordinates.
    ///
    /// \pre each coordinate is at least 0 and less than the axis's extent
    constexpr holder_t rank_at(index_vector const& coordinates) const {
        return static_cast<holder_t>(detail::ravel_index(coordinates, shape()));
    }

    /// The index of the axis with that name.
    ///
    /// \throws error with errc::bad_layout if there is none; the message lists the existing axes
    constexpr std::size_t axis(std::string_view name) const {
        std::size_t const index = find(name);
        if (index == count)
            fail(errc::bad_layout, "the mesh has no axis '", name, "', only ",
                 count == 0 ? "one rank" : names());
        return index;
    }

    constexpr bool operator==(mesh const&) const = default;

private:
    static constexpr index_t most_ranks = 2147483647;

    constexpr std::size_t find(std::string_view name) const {
        std::size_t i = 0;
        while (i < count && all_axes[i].name() != name)
            ++i;
        return i;
    }

    std::string names() const;

    constexpr void push_back(mesh_axis const& axis) {
        if (axis.name().empty())
            fail(errc::bad_layout, "axis ", count, " of the mesh has no name");
        if (find(axis.name()) != count)
            fail(errc::bad_layout, "the mesh has two axes named '", axis.name(), "'");
        if (axis.extent < 1)
            fail(errc::bad_layout, "mesh axis '", axis.name(), "' has ", axis.extent,
                 " ranks; at least 1 is needed");
        if (axis.extent > most_ranks / index_t{rank_count()})
            fail(errc::limit_exceeded, "mesh axis '", axis.name(),
                 "' would give the mesh more than ", most_ranks, " ranks");
        all_axes[count++] = axis;
    }
};

/// The axes as text: `pp=2 tp=3`; `one rank` without axes.
RESHARD_DECL std::string to_string(mesh const& ranks);

/// A mesh and its ranks. For example, `rank_mesh({{"tp", 2}}, {1, 2})` is tensor parallelism on
/// ranks 1 and 2; rank 0 holds no shards.
///
/// \par Source device meshes of PyTorch and ProcessMesh of PaddlePaddle, which list their ranks
class rank_mesh {
public:
    /// The ranks 0, 1, 2, ..., numbered as in `mesh`.
    constexpr rank_mesh(mesh const& grid) : grid_(grid) {}

    /// Puts rank `ranks[i]` at position `i` of the mesh, counted in row-major order.
    ///
    /// \throws error with errc::bad_layout if the number of ranks is not the number of positions,
    ///         or if a rank is listed twice
    constexpr rank_mesh(mesh const& grid, vector<holder_t> ranks)
        : grid_(grid), ranks_(std::move(ranks)) {
        if (ranks_.size() != grid.rank_count())
            fail(errc::bad_layout, "the mesh ", grid, " has ",
                 detail::counted(grid.rank_count(), "place"), ", but ",
                 detail::counted(ranks_.size(), "rank"),
                 ranks_.size() == 1 ? " is listed" : " are listed");
        vector<holder_t> sorted = ranks_;
        std::sort(sorted.begin(), sorted.end());
        auto const twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end())
            fail(errc::bad_layout, "the mesh ", grid, " lists rank ", *twice, " twice");
        end_ = sorted.back() + 1;
        for (std::size_t i = 0; i < ranks_.size() && ranks_[i] == i; ++i)
            if (i + 1 == ranks_.size())
                *this = rank_mesh(grid);
    }

    constexpr mesh const& grid() const { return grid_; }

    /// True if rank 0 is at position 0, rank 1 at position 1, and so on.
    constexpr bool is_plain() const { return ranks_.empty(); }

    /// The ranks by position; empty if `is_plain()`.
    constexpr vector<holder_t> const& listed() const { return ranks_; }

    /// One more than the highest rank.
    constexpr holder_t rank_end() const { return is_plain() ? grid_.rank_count() : end_; }

    /// \pre `index < grid().rank_count()`
    constexpr holder_t rank_at(holder_t index) const { return is_plain() ? index : ranks_[index]; }

    /// The position of a rank, or std::nullopt if it is not in the mesh.
    constexpr std::optional<holder_t> place_of(index_t rank) const {
        if (is_plain())
            return rank >= 0 && rank < index_t{grid_.rank_count()}
                       ? std::optional(static_cast<holder_t>(rank))
                       : std::nullopt;
        auto const match = std::find(ranks_.begin(), ranks_.end(), rank);
        return match == ranks_.end() ? std::nullopt
                                     : std::optional(static_cast<holder_t>(match - ranks_.begin()));
    }

    constexpr bool operator==(rank_mesh const&) const = default;

private:
    mesh grid_;
    vector<holder_t> ranks_; ///< by position; empty for 0, 1, 2, ...
    holder_t end_ = 0;
};

namespace typed {

/// A `rank_mesh` as a template argument: `rank_mesh({{"tp", 2}}, {1, 2})`.
///
/// If the constructor of `reshard::rank_mesh` would throw, the program does not compile.
template <std::size_t N>
struct rank_mesh {
    mesh grid;
    std::array<holder_t, N> ranks; ///< the listed ranks, by position

    constexpr rank_mesh(mesh const& places, holder_t const (&listed)[N])
        : grid(places), ranks(std::to_array(listed)) {
        static_cast<void>(reshard::rank_mesh(*this));
    }

    constexpr operator reshard::rank_mesh() const { return {grid, {ranks.begin(), ranks.end()}}; }
};

} // namespace typed

/// The mesh as text: `tp=2`, or `tp=2 over the ranks 1, 2`.
RESHARD_DECL std::string to_string(rank_mesh const& ranks);

namespace detail {

/// A set of mesh axes: bit `i` is axis `i`.
using axis_set = std::uint8_t;

/// True if `axes` contains `axis`.
constexpr bool has_axis(axis_set axes, std::size_t axis) { return (axes >> axis & 1) != 0; }

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/mesh.ipp>
#endif

#endif
