// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_RANK_MESH_HPP
#define RESHARD_LAYOUT_RANK_MESH_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/mesh.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A mesh over some of the ranks, in any order.

namespace reshard {

/// A mesh and the ranks that stand at its places: `rank_mesh({{"tp", 2}}, {1, 2})` is tensor
/// parallelism on ranks 1 and 2, where rank 0 holds nothing.
///
/// \par Source device meshes of PyTorch and ProcessMesh of PaddlePaddle, which list their ranks
class rank_mesh {
public:
    /// The ranks 0, 1, 2, ..., as `mesh` counts them.
    constexpr rank_mesh(mesh const& grid) : grid_(grid) {}

    /// Rank `ranks[i]` at place `i` of the mesh, counted in row-major order.
    ///
    /// \throws error with errc::bad_layout for more or fewer ranks than places, or for one that is
    ///         listed twice
    constexpr rank_mesh(mesh const& grid, std::vector<holder_t> ranks)
        : grid_(grid), ranks_(std::move(ranks)) {
        if (ranks_.size() != grid.rank_count())
            fail(errc::bad_layout, "the mesh " + to_string(grid) + " has " +
                                       std::to_string(grid.rank_count()) + " places, but " +
                                       std::to_string(ranks_.size()) + " ranks are listed");
        std::vector<holder_t> sorted = ranks_;
        std::sort(sorted.begin(), sorted.end());
        auto const twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end())
            fail(errc::bad_layout, "the mesh " + to_string(grid) + " has rank " +
                                       std::to_string(*twice) + " at two places");
        end_ = sorted.back() + 1;
        for (std::size_t i = 0; i < ranks_.size() && ranks_[i] == i; ++i)
            if (i + 1 == ranks_.size())
                *this = rank_mesh(grid);
    }

    constexpr mesh const& grid() const { return grid_; }

    /// True where rank 0 stands at the first place, rank 1 at the next, and so on.
    constexpr bool is_plain() const { return ranks_.empty(); }

    /// The ranks by place; none where they are plain.
    constexpr std::vector<holder_t> const& listed() const { return ranks_; }

    /// One more than the highest rank.
    constexpr holder_t rank_end() const { return is_plain() ? grid_.rank_count() : end_; }

    /// \pre `place < grid().rank_count()`
    constexpr holder_t rank_at(holder_t place) const { return is_plain() ? place : ranks_[place]; }

    /// The place of a rank, or nothing where it stands at none.
    constexpr std::optional<holder_t> place_of(holder_t rank) const {
        if (is_plain())
            return rank < grid_.rank_count() ? std::optional(rank) : std::nullopt;
        auto const found = std::find(ranks_.begin(), ranks_.end(), rank);
        return found == ranks_.end() ? std::nullopt
                                     : std::optional(static_cast<holder_t>(found - ranks_.begin()));
    }

    constexpr bool operator==(rank_mesh const&) const = default;

private:
    mesh grid_;
    std::vector<holder_t> ranks_; ///< by place; none where they are 0, 1, 2, ...
    holder_t end_ = 0;
};

/// `tp=2`, or `tp=2 over the ranks 1, 2`.
RESHARD_DECL std::string to_string(rank_mesh const& ranks);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/rank_mesh.ipp>
#endif

#endif
