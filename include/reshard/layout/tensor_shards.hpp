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
/// The shards of one tensor and their holders, listed or computed.

namespace reshard::detail {

/// A reference to the shards of one tensor: a table, a grid, a list of grids, or none. As small as
/// two pointers.
///
/// \par Units elements
class tensor_shards {
    constexpr shard_table const& listed() const {
        BOOST_ASSERT(table());
        return *table_;
    }

    /// The answer of `question` for the form of the shards.
    template <class Question>
    constexpr auto ask(Question&& question) const {
        // A conditional expression would not do: g++ 12 frees its result in a constant twice.
        if (grid())
            return question(*grid_);
        if (grids())
            return question(*grids_);
        return question(listed());
    }

public:
    /// Nobody holds any of the tensor.
    constexpr tensor_shards() = default;
    /// Null: the same.
    constexpr tensor_shards(shard_table const* table)
        : form_(table ? form::table : form::none), table_(table) {}
    constexpr tensor_shards(shard_grid const* grid) : form_(form::grid), grid_(grid) {}
    constexpr tensor_shards(grid_list const* grids) : form_(form::grids), grids_(grids) {}

    constexpr explicit operator bool() const { return form_ != form::none; }

    /// The shards as a table, or null in another form.
    constexpr shard_table const* table() const { return form_ == form::table ? table_ : nullptr; }
    constexpr shard_grid const* grid() const { return form_ == form::grid ? grid_ : nullptr; }
    constexpr grid_list const* grids() const { return form_ == form::grids ? grids_ : nullptr; }

    /// \pre somebody holds some of the tensor, here and below
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
    constexpr std::vector<box> boxes(std::size_t i) const {
        return boxes_of(region(i), flat(i), cycles(i));
    }

    /// True if each shard is a box, or blocks of one; false if some are flat ranges.
    constexpr bool are_whole() const {
        return grid() || (grids() ? grids_->are_whole() : table() && table()->all_boxes());
    }
    /// True if a shard may be blocks.
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

    /// Calls `visit(region)` for each of `boxes(i)`, in order, without listing the blocks.
    template <class Visitor>
    constexpr void for_each_box(std::size_t i, Visitor&& visit) const {
        if (auto const range = flat(i))
            for (box const& box : boxes_of(region(i), range))
                visit(box);
        else
            for_each_block(region(i), cycles(i), visit);
    }

    /// Calls `visit(shard)` for each shard of a holder, ascending; looks at all shards only if they
    /// are listed.
    template <class Visitor>
    constexpr void for_each_of(holder_t holder, Visitor&& visit) const {
        if (*this)
            ask([&](auto const& shards) { shards.for_each_of(holder, visit); });
    }

    /// True if both have the same boxes in the same order, decided without looking at all of them.
    /// False for shards in two different forms.
    constexpr bool same_geometry(tensor_shards const& shards) const {
        if (form_ != shards.form_ || !*this)
            return form_ == shards.form_;
        if (grid())
            return grid_->same_geometry(*shards.grid_);
        return grids() ? grids_->same_geometry(*shards.grids_)
                       : table_->same_geometry(*shards.table_);
    }

    /// Adds what `same_geometry` compares.
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
    union { // a model has tens of thousands of tensors, which are walked through: small is fast
        shard_table const* table_ = nullptr;
        shard_grid const* grid_;
        grid_list const* grids_;
    };
};

} // namespace reshard::detail

#endif
