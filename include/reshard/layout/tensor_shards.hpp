// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TENSOR_SHARDS_HPP
#define RESHARD_LAYOUT_TENSOR_SHARDS_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/flat_grid.hpp>
#include <reshard/layout/shard_table.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

/// \file
/// The shards of one tensor and their holders, listed or computed.

namespace reshard::detail {

/// True if the grid cuts an axis into cyclic blocks.
constexpr bool is_cyclic(shard_grid const& grid) {
    return std::any_of(grid.axes().begin(), grid.axes().end(), [](grid_axis const& axis) {
        return axis.spread.type == placement::kind::cyclic;
    });
}

/// Several grids in one tensor: for fused tensors, and for tensors that ZeRO cuts flat. The memory
/// does not depend on the number of ranks.
///
/// Numbers of shards and boxes start with the first grid and continue with the next grid.
///
/// \par Units     elements
/// \invariant     there is at least one grid, and no two grids share elements
class grid_list {
public:
    /// \throws error with errc::overflow if the number of boxes does not fit 32 bits
    constexpr explicit grid_list(vector<flat_grid> grids) : grids_(std::move(grids)) {
        BOOST_ASSERT(!grids_.empty());
        for (flat_grid const& flat_grid : grids_) {
            first_shard_.push_back(first_shard_.back() + flat_grid.size());
            first_box_.push_back(first_box_.back() + flat_grid.box_count());
        }
        if (std::max(first_box_.back(), first_shard_.back()) >
            std::numeric_limits<std::uint32_t>::max())
            fail(errc::overflow, "a tensor has ", first_shard_.back(), " shards of ",
                 first_box_.back(), " boxes; at most 4294967295 of each are supported");
    }

    constexpr vector<flat_grid> const& recipe() const { return grids_; }
    constexpr std::size_t ndim() const { return grids_[0].offset().size(); }
    constexpr std::size_t size() const { return first_shard_.back(); }

    /// \pre `i < size()`, here and below
    constexpr holder_t holder(std::size_t i) const { return ask(i, &flat_grid::holder); }
    constexpr box region(std::size_t i) const { return ask(i, &flat_grid::region); }
    constexpr std::optional<flat_range> flat(std::size_t i) const {
        return ask(i, &flat_grid::flat);
    }
    constexpr axis_cycles cycles(std::size_t i) const { return ask(i, &flat_grid::cycles); }
    constexpr vector<box> boxes(std::size_t i) const { return ask(i, &flat_grid::boxes); }

    /// Calls `visit(shard)` for each shard of a holder, in ascending order.
    template <class Visitor>
    constexpr void for_each_of(holder_t holder, Visitor&& visit) const {
        for (std::size_t i = 0; i < grids_.size(); ++i)
            if (auto const shard = grids_[i].find(holder))
                visit(static_cast<std::uint32_t>(first_shard_[i] + *shard));
    }

    /// One more than the largest box number. Some boxes are empty.
    constexpr std::size_t box_count() const { return first_box_.back(); }

    /// The number of the first box of shard `i`. Its other boxes have the numbers after it.
    constexpr std::uint32_t first_box(std::size_t i) const {
        std::size_t const grid = place_of(first_shard_, i);
        return static_cast<std::uint32_t>(first_box_[grid]) +
               grids_[grid].first_box(i - first_shard_[grid]);
    }

    /// \pre `number < box_count()`, here and below
    constexpr box box_at(std::size_t number) const {
        grid_number const at = box_place(number);
        return at.grid.box_at(at.number);
    }
    constexpr axis_cycles cycles_at(std::size_t number) const {
        grid_number const at = box_place(number);
        return at.grid.cycles_at(at.number);
    }
    constexpr std::size_t replicas(std::size_t number) const {
        return grids_[place_of(first_box_, number)].replicas();
    }

    /// \pre `which < replicas(number)`
    constexpr shard_part replica(std::size_t number, std::size_t which) const {
        std::size_t const grid = place_of(first_box_, number);
        shard_part shard_part = grids_[grid].replica(number - first_box_[grid], which);
        shard_part.shard += static_cast<std::uint32_t>(first_shard_[grid]);
        return shard_part;
    }

    /// The number of a holder's replica of box `number`, or std::nullopt if it lacks the box.
    constexpr std::optional<std::size_t> replica_held(std::size_t number, holder_t holder) const {
        grid_number const at = box_place(number);
        return at.grid.replica_held(at.number, holder);
    }

    /// Calls `visit(number, common)` for each box that shares elements with `region`; `common` is
    /// the box of shared elements.
    ///
    /// \pre `region.ndim() == ndim()`
    template <class Visitor>
    constexpr void for_each_overlap(box const& region, Visitor&& visit) const {
        for (std::size_t i = 0; i < grids_.size(); ++i)
            grids_[i].for_each_overlap(region, [&](std::uint32_t number, box const& common) {
                visit(static_cast<std::uint32_t>(first_box_[i]) + number, common);
            });
    }

    /// True if each shard is a box or blocks of a box; false if there are flat ranges.
    constexpr bool are_whole() const {
        return std::none_of(grids_.begin(), grids_.end(),
                            [](flat_grid const& part) { return part.sharing().has_value(); });
    }
    /// True if a shard may consist of blocks.
    constexpr bool have_cycles() const {
        return std::any_of(grids_.begin(), grids_.end(),
                           [](flat_grid const& part) { return is_cyclic(part.grid()); });
    }

    /// True if shards with the same number have the same elements, regardless of their holders.
    constexpr bool same_geometry(grid_list const& grids) const {
        return std::equal(
            grids_.begin(), grids_.end(), grids.grids_.begin(), grids.grids_.end(),
            [](flat_grid const& a, flat_grid const& b) { return a.same_geometry(b); });
    }

    /// Adds the values that `same_geometry` compares.
    constexpr void add_geometry(hasher& digest) const {
        for (flat_grid const& flat_grid : grids_)
            flat_grid.add_geometry(digest);
    }

    /// Adds the holders of the shards, which `same_geometry` does not compare.
    constexpr void add_holders(hasher& digest) const {
        for (flat_grid const& flat_grid : grids_)
            flat_grid.grid().add_holders(digest);
    }

    constexpr bool operator==(grid_list const&) const = default;

private:
    /// The grid to which a number belongs, given the first number of each grid.
    static constexpr std::size_t place_of(vector<std::size_t> const& first, std::size_t number) {
        auto const behind = std::upper_bound(first.begin(), first.end(), number);
        BOOST_ASSERT(behind != first.end());
        return static_cast<std::size_t>(behind - first.begin()) - 1;
    }

    /// A number relative to the first number of its grid.
    struct grid_number {
        flat_grid const& grid;
        std::size_t number;
    };

    constexpr grid_number shard_place(std::size_t i) const {
        std::size_t const grid = place_of(first_shard_, i);
        return {grids_[grid], i - first_shard_[grid]};
    }

    /// The result of calling `question` on the grid of shard `i`.
    template <class Answer>
    constexpr Answer ask(std::size_t i, Answer (flat_grid::*question)(std::size_t) const) const {
        grid_number const at = shard_place(i);
        return (at.grid.*question)(at.number);
    }

    constexpr grid_number box_place(std::size_t number) const {
        std::size_t const grid = place_of(first_box_, number);
        return {grids_[grid], number - first_box_[grid]};
    }

    vector<flat_grid> grids_;
    vector<std::size_t> first_shard_ = vector<std::size_t>(1); ///< of each grid, and the end
    vector<std::size_t> first_box_ = vector<std::size_t>(1);
};

/// A reference to the shards of one tensor: a table, a grid, a list of grids, or none. As small as
/// two pointers.
///
/// \par Units elements
class tensor_shards {
    constexpr shard_table const& listed() const {
        BOOST_ASSERT(table());
        return *table_;
    }

    /// The result of calling `question` with the table, the grid or the list of grids.
    template <class Question>
    constexpr auto ask(Question&& question) const {
        // Not a conditional expression: g++ 12 frees its result twice in a constant.
        if (grid())
            return question(*grid_);
        if (grids())
            return question(*grids_);
        return question(listed());
    }

public:
    /// Nobody holds elements of the tensor.
    constexpr tensor_shards() = default;
    /// If `table` is null, nobody holds elements of the tensor.
    constexpr tensor_shards(shard_table const* table)
        : form_(table ? form::table : form::none), table_(table) {}
    constexpr tensor_shards(shard_grid const* grid) : form_(form::grid), grid_(grid) {}
    constexpr tensor_shards(grid_list const* grids) : form_(form::grids), grids_(grids) {}

    constexpr explicit operator bool() const { return form_ != form::none; }

    /// The table, or null if the shards have another form.
    constexpr shard_table const* table() const { return form_ == form::table ? table_ : nullptr; }
    constexpr shard_grid const* grid() const { return form_ == form::grid ? grid_ : nullptr; }
    constexpr grid_list const* grids() const { return form_ == form::grids ? grids_ : nullptr; }

    /// \pre somebody holds elements of the tensor, here and below
    constexpr std::size_t ndim() const {
        return ask([](auto const& shards) { return shards.ndim(); });
    }
    constexpr std::size_t size() const {
        return ask([](auto const& shards) { return shards.size(); });
    }

    /// \pre `i < size()`, here and below
    constexpr holder_t holder(std::size_t i) const {
        return ask([i](auto const& shards) { return shards.holder(i); });
    }
    constexpr box region(std::size_t i) const {
        return ask([i](auto const& shards) { return shards.region(i); });
    }
    constexpr std::optional<flat_range> flat(std::size_t i) const {
        if (grid())
            return std::nullopt;
        return grids() ? grids_->flat(i) : listed().flat(i);
    }
    /// The axes along which shard `i` consists of blocks of its region.
    constexpr axis_cycles cycles(std::size_t i) const {
        return ask([i](auto const& shards) -> axis_cycles { return shards.cycles(i); });
    }
    constexpr vector<box> boxes(std::size_t i) const {
        return boxes_of(region(i), flat(i), cycles(i));
    }

    /// True if each shard is a box or blocks of a box; false if there are flat ranges.
    constexpr bool are_whole() const {
        return grid() || (grids() ? grids_->are_whole() : table() && table()->all_boxes());
    }
    /// True if a shard may consist of blocks.
    constexpr bool have_cycles() const {
        if (table())
            return !table()->all_cycles().empty();
        return grid() ? is_cyclic(*grid_) : grids() && grids_->have_cycles();
    }

    /// The number of elements of shard `i`.
    constexpr index_t elements(std::size_t i) const {
        auto const range = flat(i);
        return range ? range->size() : element_count(held_shape(region(i), cycles(i)));
    }

    /// Calls `visit(region)` for each of `boxes(i)`, in order. Does not list the blocks.
    template <class Visitor>
    constexpr void for_each_box(std::size_t i, Visitor&& visit) const {
        if (auto const range = flat(i))
            for (box const& box : boxes_of(region(i), range))
                visit(box);
        else
            for_each_block(region(i), cycles(i), visit);
    }

    /// Calls `visit(shard)` for each shard of a holder, in ascending order. Looks at all shards
    /// only if they are listed.
    template <class Visitor>
    constexpr void for_each_of(holder_t holder, Visitor&& visit) const {
        if (*this)
            ask([&](auto const& shards) { shards.for_each_of(holder, visit); });
    }

    /// True if both have the same boxes in the same order. Does not look at all boxes. False if the
    /// shards have two different forms.
    constexpr bool same_geometry(tensor_shards const& shards) const {
        if (form_ != shards.form_ || !*this)
            return form_ == shards.form_;
        if (grid())
            return grid_->same_geometry(*shards.grid_);
        return grids() ? grids_->same_geometry(*shards.grids_)
                       : table_->same_geometry(*shards.table_);
    }

    /// Adds the values that `same_geometry` compares.
    constexpr void add_geometry(hasher& digest) const {
        if (*this)
            ask([&](auto const& shards) { shards.add_geometry(digest); });
    }

    /// Adds the holders of the shards.
    constexpr void add_holders(hasher& digest) const {
        if (*this)
            ask([&](auto const& shards) { shards.add_holders(digest); });
    }

private:
    enum class form : std::uint8_t { none, table, grid, grids };

    form form_ = form::none;
    union { // small, because loops go through tens of thousands of tensors
        shard_table const* table_ = nullptr;
        shard_grid const* grid_;
        grid_list const* grids_;
    };
};

} // namespace reshard::detail

#endif
