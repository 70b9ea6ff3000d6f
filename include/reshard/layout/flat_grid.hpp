// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_FLAT_GRID_HPP
#define RESHARD_LAYOUT_FLAT_GRID_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/shard_grid.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

/// \file
/// Computes the shards of a part of a tensor, including shards that ZeRO cuts flat.

namespace reshard::detail {

/// How ranks with replicas of a box divide it: each rank has a slice of the elements.
struct grid_sharing {
    vector<std::uint8_t> axes;         ///< axes of the grid, ascending; the last axis runs fastest
    std::optional<flat_slices> slices; ///< std::nullopt: equal slices of each box, padded at the
                                       ///< end

    static constexpr void members(auto& self, auto&& visit) { visit(self.axes, self.slices); }

    constexpr bool operator==(grid_sharing const&) const = default;
};

/// The arguments of a `flat_grid`.
struct flat_recipe {
    index_vector offset; ///< offset of the grid's tensor in the whole tensor
    grid_recipe grid;
    std::optional<grid_sharing> sharing;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.offset, self.grid, self.sharing);
    }
};

/// A grid of shards in a region of a tensor. Ranks with replicas may divide their box flat.
///
/// Shards have the same numbers as in the grid. A flat range may consist of several boxes, so each
/// slice reserves numbers for the largest possible number of boxes. Unused numbers have empty
/// boxes. A scalar has no empty box: unused numbers repeat the scalar, but no shard has these
/// boxes.
///
/// \par Units elements
class flat_grid {
public:
    /// \param offset the offset of the grid's tensor in the whole tensor
    /// \pre   the grid replicates along the axes of `sharing`, the slices hold each box, and the
    ///        grid has no cyclic blocks
    constexpr flat_grid(index_vector offset, shard_grid grid,
                        std::optional<grid_sharing> sharing = {})
        : offset_(offset), grid_(std::move(grid)), sharing_(std::move(sharing)) {
        for (std::size_t i = 0; sharing_ && i < sharing_->axes.size(); ++i)
            slices_ *= grid_.axes()[sharing_->axes[i]].extent;
        if (sharing_ && offset_.size() > 1)
            runs_ = 2 * static_cast<index_t>(offset_.size()) - 1;
    }

    /// \pre `validate(recipe)` does not throw
    constexpr explicit flat_grid(flat_recipe recipe)
        : flat_grid(recipe.offset, shard_grid(recipe.grid), std::move(recipe.sharing)) {}

    /// The constructor's arguments.
    constexpr flat_recipe recipe() const { return {offset_, grid_.recipe(), sharing_}; }

    constexpr index_vector const& offset() const { return offset_; }
    constexpr shard_grid const& grid() const { return grid_; }
    constexpr std::optional<grid_sharing> const& sharing() const { return sharing_; }

    constexpr std::size_t size() const { return grid_.size(); }
    constexpr holder_t holder(std::size_t i) const { return grid_.holder(i); }
    constexpr std::optional<std::uint32_t> find(holder_t holder) const {
        return grid_.find(holder);
    }

    /// \pre `i < size()`, here and below
    constexpr box region(std::size_t i) const { return placed(grid_.region(i)); }

    /// The axes along which shard `i` consists of blocks of its region.
    constexpr axis_cycles cycles(std::size_t i) const { return grid_.cycles(i); }

    /// The flat range of shard `i` in its region, or std::nullopt if it is not cut flat.
    constexpr std::optional<flat_range> flat(std::size_t i) const {
        if (!sharing_)
            return std::nullopt;
        return range(element_count(grid_.region(i)), replica_at(grid_.replica_of(i)).slice);
    }

    /// The boxes of shard `i`, in its storage order.
    constexpr vector<box> boxes(std::size_t i) const {
        return boxes_of(region(i), flat(i), cycles(i));
    }

    /// One more than the largest box number.
    constexpr std::size_t box_count() const {
        return grid_.box_count() * static_cast<std::size_t>(slices_ * runs_);
    }

    /// The number of the first box of shard `i`. Its other boxes have the numbers after it.
    constexpr std::uint32_t first_box(std::size_t i) const {
        index_t const slice = replica_at(grid_.replica_of(i)).slice;
        return static_cast<std::uint32_t>((index_t{grid_.box_of(i)} * slices_ + slice) * runs_);
    }

    /// \pre `number < box_count()`, here and below
    constexpr box box_at(std::size_t number) const {
        box_place const at = place_of(number);
        box const region = grid_.box_at(at.box);
        if (!sharing_)
            return placed(region);
        auto const runs = reshard::detail::boxes_of(region, range(element_count(region), at.slice));
        if (at.run < runs.size())
            return placed(runs[at.run]);
        return {offset_, index_vector::filled(offset_.size(), 0)};
    }

    /// The axes along which box `number` consists of blocks of the result of `box_at`.
    constexpr axis_cycles cycles_at(std::size_t number) const {
        if (sharing_)
            return {}; // g++ 12 frees the result of a conditional expression twice in a constant
        return grid_.cycles_at(number);
    }

    /// The number of shards that have each box.
    constexpr std::size_t replicas() const {
        return grid_.replicas() / static_cast<std::size_t>(slices_);
    }

    /// \pre `which < replicas()`
    constexpr shard_part replica(std::size_t number, std::size_t which) const {
        box_place const at = place_of(number);
        return {grid_.replica(at.box, replica_of({at.slice, static_cast<index_t>(which)})), at.run};
    }

    /// The number of a holder's replica of box `number`, or std::nullopt if the holder lacks that
    /// box.
    constexpr std::optional<std::size_t> replica_held(std::size_t number, holder_t holder) const {
        auto const shard = grid_.find(holder);
        box_place const at = place_of(number);
        if (!shard || grid_.box_of(*shard) != at.box)
            return std::nullopt;
        shared_replica const replica = replica_at(grid_.replica_of(*shard));
        return replica.slice == at.slice ? std::optional(static_cast<std::size_t>(replica.which))
                                         : std::nullopt;
    }

    /// Calls `visit(number, common)` for each box that shares elements with `region`; `common` is
    /// the box of shared elements. The time is proportional to the number of calls.
    ///
    /// \pre `region` has the tensor's number of axes
    constexpr void for_each_overlap(box const& region, overlap_visitor visit) const {
        grid_.for_each_overlap(relative_to(region, offset_),
                               [&](std::uint32_t number, box const& common) {
                                   if (sharing_)
                                       visit_slices(number, common, visit);
                                   else
                                       visit(number, placed(common));
                               });
    }

    /// True if shards with the same number have the same elements, regardless of their holders.
    constexpr bool same_geometry(flat_grid const& other_grid) const {
        return offset_ == other_grid.offset_ && sharing_ == other_grid.sharing_ &&
               grid_.same_geometry(other_grid.grid_);
    }

    /// Adds the values that `same_geometry` compares.
    constexpr void add_geometry(hasher& digest) const {
        digest.add(offset_);
        grid_.add_geometry(digest);
        digest.add(std::uint64_t{sharing_.has_value()});
        if (!sharing_)
            return;
        for (std::uint8_t const axis : sharing_->axes)
            digest.add(std::uint64_t{axis});
        flat_slices const slices = sharing_->slices.value_or(flat_slices{-1, -1});
        digest.add(static_cast<std::uint64_t>(slices.begin));
        digest.add(static_cast<std::uint64_t>(slices.length));
    }

    constexpr bool operator==(flat_grid const&) const = default;

private:
    /// The components of a box number.
    struct box_place {
        std::uint32_t box; ///< the box of the grid
        index_t slice;
        std::uint8_t run; ///< the box of the slice
    };

    /// A replica of a box of the grid: its slice, and its number among the shards with that slice.
    struct shared_replica {
        index_t slice;
        index_t which;
    };

    constexpr box placed(box region) const {
        for (std::size_t axis = 0; axis < offset_.size(); ++axis)
            region.offset[axis] += offset_[axis];
        return region;
    }

    constexpr box_place place_of(std::size_t number) const {
        auto const at = static_cast<index_t>(number);
        return {static_cast<std::uint32_t>(at / runs_ / slices_), at / runs_ % slices_,
                static_cast<std::uint8_t>(at % runs_)};
    }

    constexpr bool is_shared_along(std::size_t axis) const {
        return sharing_ && std::find(sharing_->axes.begin(), sharing_->axes.end(), axis) !=
                               sharing_->axes.end();
    }

    constexpr shared_replica replica_at(std::uint32_t replica) const {
        shared_replica at{0, 0}, scale{1, 1};
        for (std::size_t i = grid_.axes().size(); i-- > 0;) {
            grid_axis const& axis = grid_.axes()[i];
            if (axis.spread.cuts())
                continue;
            auto const digit = is_shared_along(i) ? &shared_replica::slice : &shared_replica::which;
            at.*digit += axis.along(replica, axis.part_stride) * (scale.*digit);
            scale.*digit *= axis.extent;
        }
        return at;
    }

    /// The inverse of `replica_at`.
    constexpr std::size_t replica_of(shared_replica at) const {
        index_t replica = 0;
        for (std::size_t i = grid_.axes().size(); i-- > 0;) {
            grid_axis const& axis = grid_.axes()[i];
            if (axis.spread.cuts())
                continue;
            auto const digit = is_shared_along(i) ? &shared_replica::slice : &shared_replica::which;
            replica += at.*digit % axis.extent * axis.part_stride;
            at.*digit /= axis.extent;
        }
        return static_cast<std::size_t>(replica);
    }

    constexpr flat_slices slices_for(index_t elements) const {
        return sharing_->slices.value_or(padded_slices(elements, slices_));
    }

    constexpr flat_range range(index_t elements, index_t slice) const {
        return range_of(slices_for(elements), elements, slice);
    }

    /// Visits the boxes of the slices of box `number` of the grid; `common` is the requested part
    /// of the box.
    constexpr void visit_slices(std::uint32_t number, box const& common,
                                overlap_visitor visit) const {
        box const region = grid_.box_at(number);
        index_t const elements = element_count(region);
        box const sought = relative_to(common, region.offset);
        auto position = next_position(sought, 0, region.shape);
        while (position) {
            index_t const slice = slice_of(slices_for(elements), *position);
            flat_range const flat_range = range(elements, slice);
            auto next = (index_t{number} * slices_ + slice) * runs_;
            for (box const& run : reshard::detail::boxes_of(region, flat_range)) {
                if (auto const shared = intersect(run, common))
                    visit(static_cast<std::uint32_t>(next), placed(*shared));
                ++next;
            }
            position = next_position(sought, flat_range.end, region.shape);
        }
    }

    index_vector offset_;
    shard_grid grid_;
    std::optional<grid_sharing> sharing_;
    index_t slices_ = 1; ///< slices of each box
    index_t runs_ = 1;   ///< the largest number of boxes of a slice
};

/// \throws error with errc::bad_layout if the slices of a box do not hold all its elements
RESHARD_DECL void validate(flat_recipe const& flat);

/// Validates grids that are parts of one tensor. Does not check that they are disjoint.
///
/// \throws error with errc::bad_layout if the list is empty, or if their numbers of axes differ
RESHARD_DECL void validate(vector<flat_grid> const& grids);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/flat_grid.ipp>
#endif

#endif
