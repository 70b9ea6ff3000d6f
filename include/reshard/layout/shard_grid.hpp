// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_SHARD_GRID_HPP
#define RESHARD_LAYOUT_SHARD_GRID_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/holder.hpp>
#include <reshard/layout/placement.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// Computes the shards of one tensor, which a `shard_table` would list.

namespace reshard::detail {

/// The shards that result from placements on a mesh. The time of each query does not depend on the
/// number of ranks.
///
/// Shards have the order in which `append(shard_table&, distribution const&)` lists them (see
/// `grid_of`). Boxes are the distinct regions, including regions without elements. Each box has the
/// same number of replicas, in the order of their holders.
///
/// \par Units elements
class shard_grid {
public:
    /// Makes shards whose holders begin at `first`. The fastest axis is the first of `axes`.
    ///
    /// \pre `find_fault` finds no fault in the placements, no placement is `only`, each extent is
    ///      greater than 1, and no two shards have the same holder
    constexpr shard_grid(index_vector const& shape, holder_t first, vector<held_axis> const& axes)
        : shape_(shape), first_holder_(first) {
        add_axes(axes);
    }

    /// \pre `validate(recipe)` does not throw
    constexpr explicit shard_grid(grid_recipe const& recipe)
        : shard_grid(recipe.shape, recipe.first_holder, recipe.axes) {}

    /// The constructor's arguments.
    constexpr grid_recipe recipe() const {
        grid_recipe result{shape_, first_holder(), {}};
        for (std::size_t i = axes_.size(); i-- > 0;)
            result.axes.push_back({axes_[i].spread, axes_[i].extent, axes_[i].holder_stride});
        return result;
    }

    constexpr std::size_t ndim() const { return shape_.size(); }
    constexpr index_vector const& shape() const { return shape_; }
    constexpr holder_t first_holder() const { return static_cast<holder_t>(first_holder_); }

    /// The axes; the slowest axis is first.
    constexpr vector<grid_axis> const& axes() const { return axes_; }

    /// The number of shards.
    constexpr std::size_t size() const { return static_cast<std::size_t>(shards_); }

    /// The holder of shard `i`. Holders are in ascending order.
    ///
    /// \pre `i < size()`, here and below
    constexpr holder_t holder(std::size_t i) const {
        index_t sum = first_holder_;
        if (step_ > 0)
            return static_cast<holder_t>(sum + static_cast<index_t>(i) * step_);
        for (grid_axis const& axis : axes_)
            sum += axis.along(static_cast<index_t>(i), axis.shard_stride) * axis.holder_stride;
        return static_cast<holder_t>(sum);
    }

    /// The shard of a holder, or std::nullopt if the holder has no shard.
    constexpr std::optional<std::uint32_t> find(holder_t holder) const {
        index_t left = index_t{holder} - first_holder_;
        index_t shard = 0;
        for (grid_axis const& axis : axes_) {
            index_t const at = left / axis.holder_stride;
            if (left < 0 || at >= axis.extent)
                return std::nullopt;
            left -= at * axis.holder_stride;
            shard += at * axis.shard_stride;
        }
        return left == 0 ? std::optional(static_cast<std::uint32_t>(shard)) : std::nullopt;
    }

    /// The region of shard `i`. Without elements, it is a box with offset = extent. For cyclic
    /// blocks, it is the box from the first to the last block of the shard; see `cycles`.
    constexpr box region(std::size_t i) const { return box_at(box_of(i)); }

    /// The axes along which shard `i` consists of blocks of its region.
    constexpr axis_cycles cycles(std::size_t i) const { return cycles_at(box_of(i)); }

    /// The number of distinct boxes.
    constexpr std::size_t box_count() const { return static_cast<std::size_t>(boxes_); }

    /// The box of shard `i`.
    constexpr std::uint32_t box_of(std::size_t i) const {
        if (replicas_ == 1)
            return static_cast<std::uint32_t>(i);
        return static_cast<std::uint32_t>(
            sum_of(true, i, &grid_axis::shard_stride, &grid_axis::part_stride));
    }

    /// \pre `number < box_count()`
    constexpr box box_at(std::size_t number) const {
        box box = whole(shape_);
        for (std::uint8_t const next : cutting_) {
            grid_axis const& axis = axes_[next];
            cut_part(box.offset[axis.spread.axis], box.shape[axis.spread.axis], axis,
                     axis.along(static_cast<index_t>(number), axis.part_stride));
        }
        for (std::size_t i = 0; i < ndim(); ++i)
            if (box.shape[i] == 0)
                box.offset[i] = shape_[i];
        return box;
    }

    /// The axes along which box `number` consists of blocks of the result of `box_at`.
    ///
    /// \pre `number < box_count()`
    constexpr axis_cycles cycles_at(std::size_t number) const {
        axis_cycles cycles;
        for (std::uint8_t const next : cutting_)
            if (placement const& placement = axes_[next].spread;
                placement.type == placement::kind::cyclic)
                add_cycle(cycles,
                          {placement.axis, placement.block, placement.block * axes_[next].extent},
                          box_at(number));
        return cycles;
    }

    /// The number of shards that have each box.
    constexpr std::size_t replicas() const { return static_cast<std::size_t>(replicas_); }

    /// The shard that is replica `which` of box `number`.
    ///
    /// \pre `number < box_count()` and `which < replicas()`
    constexpr std::uint32_t replica(std::size_t number, std::size_t which) const {
        if (replicas_ == 1)
            return static_cast<std::uint32_t>(number);
        return static_cast<std::uint32_t>(
            sum_of(true, number, &grid_axis::part_stride, &grid_axis::shard_stride) +
            sum_of(false, which, &grid_axis::part_stride, &grid_axis::shard_stride));
    }

    /// The replica number of shard `i`.
    constexpr std::uint32_t replica_of(std::size_t i) const {
        return static_cast<std::uint32_t>(
            sum_of(false, i, &grid_axis::shard_stride, &grid_axis::part_stride));
    }

    /// Calls `visit(shard)` for the shard of a holder, if there is one.
    template <class Visitor>
    constexpr void for_each_of(holder_t holder, Visitor&& visit) const {
        if (auto const shard = find(holder))
            visit(*shard);
    }

    /// Calls `visit(number, common)` for each box that shares elements with `region`; `common` is
    /// the box of shared elements. Visits each cyclic block separately. The time is proportional to
    /// the number of calls.
    ///
    /// \pre `region.ndim() == ndim()`
    constexpr void for_each_overlap(box const& region, overlap_visitor visit) const {
        visit_parts(0, 0, whole(shape_), region, visit);
    }

    /// True if both grids have the same boxes with the same numbers. Holders may differ.
    constexpr bool same_geometry(shard_grid const& other_grid) const {
        auto const same = [](grid_axis const& a, grid_axis const& b) {
            return a.extent == b.extent && a.spread == b.spread;
        };
        return shape_ == other_grid.shape_ &&
               std::equal(axes_.begin(), axes_.end(), other_grid.axes_.begin(),
                          other_grid.axes_.end(), same);
    }

    /// Adds the values that `same_geometry` compares.
    constexpr void add_geometry(hasher& digest) const {
        digest.add(shape_);
        for (grid_axis const& axis : axes_) {
            add_value(digest, axis.spread);
            digest.add(static_cast<std::uint64_t>(axis.extent));
        }
    }

    /// Adds the holders of the shards, which `same_geometry` does not compare.
    constexpr void add_holders(hasher& digest) const {
        digest.add(static_cast<std::uint64_t>(first_holder_));
        for (grid_axis const& axis : axes_)
            digest.add(static_cast<std::uint64_t>(axis.holder_stride));
    }

    constexpr bool operator==(shard_grid const&) const = default;

private:
    constexpr void add_axes(vector<held_axis> const& axes) {
        for (held_axis const& axis : axes)
            axes_.push_back(axis_of(axis));
        std::reverse(axes_.begin(), axes_.end());
        for (bool const strided : {false, true})
            for (std::uint8_t i = 0; i < axes_.size(); ++i)
                if (axes_[i].spread.cuts() && axes_[i].spread.strided == strided)
                    cutting_.push_back(i);
        // Holders are usually evenly spaced. Then one multiplication finds a holder.
        step_ = axes_.empty() ? 1 : axes_.back().holder_stride;
        for (grid_axis const& axis : axes_)
            if (axis.holder_stride != axis.shard_stride * step_)
                step_ = 0;
    }

    /// Adds an outermost axis: its strides are the products of the extents of the existing axes.
    constexpr grid_axis axis_of(held_axis const& held_axis) {
        index_t& count = held_axis.spread.cuts() ? boxes_ : replicas_;
        grid_axis axis{
            held_axis.spread, held_axis.extent, held_axis.holder_stride, shards_, count, {}};
        shards_ *= held_axis.extent;
        count *= held_axis.extent;
        if (held_axis.spread.type == placement::kind::sizes) {
            axis.begins.push_back(0);
            for (index_t const size : held_axis.spread.sizes)
                axis.begins.push_back(axis.begins.back() + size);
        }
        return axis;
    }

    /// Converts a number with the strides `from` to the strides `to`. Uses only the axes that cut,
    /// or only the axes that do not.
    constexpr index_t sum_of(bool cuts, std::size_t number, index_t grid_axis::*from,
                             index_t grid_axis::*to) const {
        index_t sum = 0;
        for (grid_axis const& axis : axes_)
            if (axis.spread.cuts() == cuts)
                sum += axis.along(static_cast<index_t>(number), axis.*from) * (axis.*to);
        return sum;
    }

    constexpr void visit_parts(std::size_t next, index_t number, box const& held_box,
                               box const& region, overlap_visitor visit) const {
        if (next == cutting_.size()) {
            if (auto const common = intersect(held_box, region))
                visit(static_cast<std::uint32_t>(number), *common);
            return;
        }
        grid_axis const& axis = axes_[cutting_[next]];
        std::size_t const along = axis.spread.axis;
        if (axis.spread.type == placement::kind::cyclic)
            return visit_blocks(next, number, held_box, region, visit);
        index_t const behind = std::min(held_box.end(along), region.end(along));
        interval const full{held_box.offset[along], held_box.shape[along]};
        for (index_t i = first_part(full, axis, region.offset[along]); i < axis.extent; ++i) {
            box share = held_box;
            cut_part(share.offset[along], share.shape[along], axis, i);
            if (share.offset[along] >= behind)
                return;
            if (share.shape[along] > 0)
                visit_parts(next + 1, number + i * axis.part_stride, share, region, visit);
        }
    }

    /// Like `visit_parts`, for cyclic blocks.
    constexpr void visit_blocks(std::size_t next, index_t number, box const& held_box,
                                box const& region, overlap_visitor visit) const {
        grid_axis const& axis = axes_[cutting_[next]];
        std::size_t const along = axis.spread.axis;
        index_t const block = axis.spread.block;
        index_t const end =
            std::min(held_box.end(along), region.end(along)) - held_box.offset[along];
        index_t at = std::max<index_t>(0, region.offset[along] - held_box.offset[along]);
        while (at < end) {
            index_t const begin = at / block * block;
            box share = held_box;
            share.offset[along] += begin;
            share.shape[along] = std::min(block, held_box.shape[along] - begin);
            index_t const part = (at / block + axis.spread.coordinate) % axis.extent;
            visit_parts(next + 1, number + part * axis.part_stride, share, region, visit);
            at = begin + share.shape[along];
        }
    }

    index_vector shape_;
    vector<grid_axis> axes_;       ///< the slowest axis is first
    vector<std::uint8_t> cutting_; ///< the axes that cut, in cutting order
    index_t first_holder_ = 0;
    index_t step_ = 0; ///< the distance between holders; 0 if not constant
    index_t shards_ = 1;
    index_t boxes_ = 1;
    index_t replicas_ = 1;
};

} // namespace reshard::detail

#endif
