// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_SHARD_TABLE_HPP
#define RESHARD_LAYOUT_SHARD_TABLE_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/core/index_rows.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/holder.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// The shards of one tensor and their holders.

namespace reshard::detail {

/// A shard of a tensor and its holder.
struct table_shard {
    holder_t holder = 0;
    box region;
    std::optional<flat_range> flat; ///< std::nullopt: the whole region
    axis_cycles cycles{};           ///< empty: the whole region

    constexpr std::size_t ndim() const { return region.ndim(); }
    static constexpr void members(auto& self, auto&& visit) {
        visit(self.holder, self.region, self.flat, self.cycles);
    }
};

/// \throws error with errc::bad_layout if offset and shape have different numbers of axes, or if
///         the flat range is invalid
constexpr void validate(table_shard const& shard) {
    if (shard.region.offset.size() != shard.region.shape.size())
        fail(errc::bad_layout, "it has the shard ", shard.region.shape, " at offset ",
             shard.region.offset);
    if (shard.flat && shard.flat->begin < 0)
        fail(errc::bad_layout, "it has the flat range ", *shard.flat);
    if ((shard.flat && !shard.cycles.empty()) || find_bad_cycle(shard.region, shard.cycles))
        fail(errc::bad_layout, "it has blocks along", to_string(shard.cycles), " of the shape ",
             shard.region.shape);
}

/// The shards of one tensor in packed form, in the order of insertion. Each has a holder, a region,
/// a flat range and cycles.
///
/// \par Units elements
class shard_table {
public:
    constexpr shard_table() = default;
    constexpr explicit shard_table(std::size_t ndim) : regions_(ndim) {}

    constexpr std::size_t size() const { return holders_.size(); }
    constexpr std::size_t ndim() const { return regions_.ndim(); }
    constexpr holder_t holder(std::size_t i) const { return holders_[i]; }
    constexpr box region(std::size_t i) const { return regions_[i]; }
    constexpr table_shard operator[](std::size_t i) const {
        return {holder(i), region(i), flat(i), cycles(i)};
    }

    /// The flat range of shard `i`, or std::nullopt for the whole region.
    constexpr std::optional<flat_range> flat(std::size_t i) const {
        if (flats_.empty() || flats_[i].begin < 0)
            return std::nullopt;
        return flats_[i];
    }

    /// The axes along which shard `i` consists of blocks of its region.
    constexpr axis_cycles const& cycles(std::size_t i) const {
        return cycles_.empty() ? none_ : cycles_[i];
    }

    /// Calls `visit(shard)` for each shard of a holder, in ascending order.
    template <class Visitor>
    constexpr void for_each_of(holder_t holder, Visitor&& visit) const {
        for (std::uint32_t i = 0; i < size(); ++i)
            if (holders_[i] == holder)
                visit(i);
    }

    constexpr void reserve(std::size_t shards) {
        holders_.reserve(shards);
        regions_.reserve(shards);
    }

    /// Appends a shard.
    ///
    /// \pre `region.ndim() == ndim()`
    constexpr void push_back(holder_t holder, box const& region,
                             std::optional<flat_range> const& flat = {},
                             axis_cycles const& cycles = {}) {
        if (!cycles.empty() && cycles_.empty())
            cycles_.resize(size());
        if (!cycles.empty() || !cycles_.empty())
            cycles_.push_back(cycles);
        if (flat && flats_.empty())
            flats_.resize(size(), not_flat);
        if (flat || !flats_.empty())
            flats_.push_back(flat.value_or(not_flat));
        holders_.push_back(holder);
        regions_.push_back(region);
    }

    constexpr void push_back(table_shard const& shard) {
        push_back(shard.holder, shard.region, shard.flat, shard.cycles);
    }

    /// The boxes of shard `i`. The boxes of a flat range are in storage order, and blocks are in
    /// row-major order.
    constexpr vector<box> boxes(std::size_t i) const {
        return boxes_of(region(i), flat(i), cycles(i));
    }

    /// True if no shard is a flat range.
    constexpr bool all_boxes() const { return flats_.empty(); }

    /// The regions of the shards. If two tables have equal regions and equal flat ranges, they have
    /// equal plans.
    constexpr box_list const& regions() const { return regions_; }
    constexpr vector<holder_t> const& holders() const { return holders_; }
    constexpr vector<axis_cycles> const& all_cycles() const { return cycles_; }

    /// True if shards with the same number have the same elements, regardless of their holders.
    constexpr bool same_geometry(shard_table const& table) const {
        return regions_ == table.regions_ && flats_ == table.flats_ && cycles_ == table.cycles_;
    }

    /// Adds the values that `same_geometry` compares.
    constexpr void add_geometry(hasher& digest) const {
        regions_.offsets().add_to(digest);
        regions_.shapes().add_to(digest);
        add_value(digest, flats_);
        add_value(digest, cycles_);
    }

    /// Adds the holders of the shards.
    constexpr void add_holders(hasher& digest) const {
        for (holder_t const holder : holders_)
            digest.add(std::uint64_t{holder});
    }

    /// The memory that the shards occupy.
    constexpr std::size_t bytes() const {
        return regions_.bytes() + holders_.capacity() * sizeof(holder_t) +
               flats_.capacity() * sizeof(flat_range) + cycles_.capacity() * sizeof(axis_cycles);
    }

    constexpr bool operator==(shard_table const&) const = default;

private:
    static constexpr flat_range not_flat{-1, -1};

    box_list regions_;
    vector<holder_t> holders_;
    vector<flat_range> flats_;   ///< empty if no shard is flat
    vector<axis_cycles> cycles_; ///< empty if no shard is cyclic
    axis_cycles none_;
};

} // namespace reshard::detail

#endif
