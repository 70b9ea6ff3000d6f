// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TENSOR_SHARDS_HPP
#define RESHARD_LAYOUT_TENSOR_SHARDS_HPP

#include <reshard/layout/grid_list.hpp>
#include <reshard/layout/shard_table.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// Who holds which part of one tensor, listed or computed.

namespace reshard::detail {

/// The number of no spread: tensors that share one, a way of being held, have its number.
inline constexpr std::uint32_t no_spread = 0xffffffff;

/// The shards of one tensor: a table, a grid, a list of grids, or none at all. Refers to it, and is
/// as small as two pointers.
///
/// \par Units elements
class tensor_shards {
public:
    /// Nobody holds any of the tensor.
    constexpr tensor_shards() = default;
    constexpr tensor_shards(shard_table const* table) : form_(form::table), table_(table) {}
    constexpr tensor_shards(shard_grid const* grid) : form_(form::grid), grid_(grid) {}
    constexpr tensor_shards(grid_list const* grids) : form_(form::grids), grids_(grids) {}

    constexpr explicit operator bool() const { return form_ != form::none; }

    /// What they are, or null where they are something else.
    constexpr shard_table const* table() const { return form_ == form::table ? table_ : nullptr; }
    constexpr shard_grid const* grid() const { return form_ == form::grid ? grid_ : nullptr; }
    constexpr grid_list const* grids() const { return form_ == form::grids ? grids_ : nullptr; }

    /// \pre somebody holds some of the tensor, here and below
    constexpr std::size_t ndim() const {
        return grid() ? grid_->ndim() : grids() ? grids_->ndim() : listed().ndim();
    }
    constexpr std::size_t size() const {
        return grid() ? grid_->size() : grids() ? grids_->size() : listed().size();
    }

    /// \pre `i < size()`, here and below
    constexpr holder_t holder(std::size_t i) const {
        return grid() ? grid_->holder(i) : grids() ? grids_->holder(i) : listed().holder(i);
    }
    constexpr box region(std::size_t i) const {
        return grid() ? grid_->region(i) : grids() ? grids_->region(i) : listed().region(i);
    }
    constexpr std::optional<flat_range> flat(std::size_t i) const {
        if (grid())
            return std::nullopt;
        return grids() ? grids_->flat(i) : listed().flat(i);
    }
    /// The axes along which shard `i` is blocks of its region.
    constexpr axis_cycles cycles(std::size_t i) const {
        return grid() ? grid_->cycles(i) : grids() ? grids_->cycles(i) : listed().cycles(i);
    }
    constexpr std::vector<box> boxes(std::size_t i) const {
        return boxes_of(region(i), flat(i), cycles(i));
    }

    /// The number of elements of shard `i`.
    constexpr index_t elements(std::size_t i) const {
        auto const range = flat(i);
        return range ? range->size() : element_count(held_shape(region(i), cycles(i)));
    }

    /// Calls `visit(region)` for each of `boxes(i)`, in order, without a list of blocks.
    template <class Visitor>
    constexpr void for_each_box(std::size_t i, Visitor&& visit) const {
        if (auto const range = flat(i))
            for (box const& one : boxes_of(region(i), range))
                visit(one);
        else
            for_each_block(region(i), cycles(i), visit);
    }

    /// Calls `visit(shard)` for each shard of a holder, ascending; looks at all shards only where
    /// they are listed.
    template <class Visitor>
    constexpr void for_each_of(holder_t holder, Visitor&& visit) const {
        if (grids())
            return grids_->for_each_of(holder, visit);
        if (grid()) {
            if (auto const shard = grid_->find(holder))
                visit(*shard);
            return;
        }
        for (std::uint32_t i = 0; table() && i < table_->size(); ++i)
            if (table_->holder(i) == holder)
                visit(i);
    }

    /// True where both are the same boxes in the same order, seen without looking at all of them.
    /// Listed and computed ones are never seen to be.
    constexpr bool same_geometry(tensor_shards const& other) const {
        if (form_ != other.form_)
            return false;
        if (grid())
            return grid_->same_geometry(*other.grid_);
        if (grids())
            return grids_->same_geometry(*other.grids_);
        if (table())
            return table_->regions() == other.table_->regions() &&
                   table_->flat_ranges() == other.table_->flat_ranges() &&
                   table_->all_cycles() == other.table_->all_cycles();
        return true;
    }

    /// Adds what `same_geometry` compares.
    constexpr void add_geometry(hasher& digest) const {
        if (grid())
            return grid_->add_geometry(digest);
        if (grids())
            return grids_->add_geometry(digest);
        if (!table())
            return;
        table_->regions().offsets().add_to(digest);
        table_->regions().shapes().add_to(digest);
        for (flat_range const& flat : table_->flat_ranges()) {
            digest.add(static_cast<std::uint64_t>(flat.begin));
            digest.add(static_cast<std::uint64_t>(flat.end));
        }
        for (axis_cycles const& cycles : table_->all_cycles())
            for (axis_cycle const& one : cycles) {
                digest.add(static_cast<std::uint64_t>(one.axis));
                digest.add(static_cast<std::uint64_t>(one.block));
                digest.add(static_cast<std::uint64_t>(one.period));
            }
    }

    /// Adds who holds them.
    constexpr void add_holders(hasher& digest) const {
        if (grid())
            return grid_->add_holders(digest);
        if (grids())
            return grids_->add_holders(digest);
        for (std::size_t i = 0; table() && i < table_->size(); ++i)
            digest.add(std::uint64_t{table_->holder(i)});
    }

private:
    constexpr shard_table const& listed() const {
        BOOST_ASSERT(table());
        return *table_;
    }

    enum class form : std::uint8_t { none, table, grid, grids };

    form form_ = form::none;
    union { // a model has tens of thousands of tensors, which are walked through: small is fast
        shard_table const* table_ = nullptr;
        shard_grid const* grid_;
        grid_list const* grids_;
    };
};

} // namespace reshard::detail

#endif
