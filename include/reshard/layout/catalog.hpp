// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_CATALOG_HPP
#define RESHARD_LAYOUT_CATALOG_HPP

#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What a program needs to know of a state dict: keys, shapes, data types, parts along each axis.

namespace reshard {

/// One tensor as a program sees it.
struct catalog_entry {
    std::string key;
    data_type dtype{};
    index_vector shape;      ///< global
    index_vector parts;      ///< the number of parts along each axis: 1 where it is not cut
    std::uint8_t uneven = 0; ///< bit `i` is set where the parts along axis `i` are not equal

    /// Whether the parts along an axis are equal.
    ///
    /// \pre `axis < shape.size()`
    constexpr bool is_even(std::size_t axis) const { return (uneven >> axis & 1) == 0; }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.shape, self.parts, self.uneven);
    }

    constexpr bool operator==(catalog_entry const&) const = default;
};

/// \throws error with errc::bad_layout or errc::overflow where there can be no such tensor, or the
///         parts are not those of its axes
constexpr void validate(catalog_entry const& entry) {
    detail::check_tensor(entry.key, entry.dtype, entry.shape);
    if (entry.parts.size() != entry.shape.size() ||
        std::any_of(entry.parts.begin(), entry.parts.end(), [](index_t n) { return n < 1; }) ||
        entry.uneven >> entry.shape.size() != 0)
        fail(errc::bad_layout, "it has the parts " + to_string(entry.parts) + " of '" + entry.key +
                                   "', shape " + to_string(entry.shape));
}

/// The tensors of a state dict, sorted by key.
class catalog {
public:
    constexpr catalog() = default;

    /// \throws error with errc::bad_layout when a key appears twice
    constexpr explicit catalog(std::vector<catalog_entry> entries) : entries_(std::move(entries)) {
        std::sort(entries_.begin(), entries_.end(),
                  [](auto const& a, auto const& b) { return a.key < b.key; });
        for (std::size_t i = 1; i < entries_.size(); ++i)
            if (entries_[i - 1].key == entries_[i].key)
                fail(errc::bad_layout, "'" + entries_[i].key + "' appears twice in the catalog");
    }

    /// The entry of that key, or null.
    constexpr catalog_entry const* find(std::string_view key) const {
        auto const place = std::lower_bound(
            entries_.begin(), entries_.end(), key,
            [](catalog_entry const& entry, std::string_view sought) { return entry.key < sought; });
        return place != entries_.end() && place->key == key ? &*place : nullptr;
    }

    constexpr std::size_t size() const { return entries_.size(); }
    constexpr bool empty() const { return entries_.empty(); }
    constexpr auto begin() const { return entries_.begin(); }
    constexpr auto end() const { return entries_.end(); }
    constexpr catalog_entry const& operator[](std::size_t i) const { return entries_[i]; }

    static constexpr void members(auto& self, auto&& visit) { visit(self.entries_); }

    constexpr bool operator==(catalog const&) const = default;

private:
    std::vector<catalog_entry> entries_;
};

namespace detail {

template <>
inline constexpr stored_form form_of<catalog>{"catalog", 2};

} // namespace detail

/// \throws error with errc::bad_layout where keys are out of order, or one stands twice
constexpr void validate(catalog const& all) { detail::check_sorted(all); }

namespace detail {

/// Adds the places at which a region begins along an axis: one, or one for each block.
constexpr void add_begins(std::vector<index_t>& begins, box const& region,
                          axis_cycles const& cycles, std::size_t axis) {
    index_t period = region.shape[axis];
    for (axis_cycle const& one : cycles)
        if (one.axis == axis)
            period = one.period;
    for (index_t begin = region.offset[axis]; begin < region.end(axis); begin += period)
        begins.push_back(begin);
}

/// The different places at which shards that are not empty begin along an axis, in order.
constexpr std::vector<index_t> begins_of(shard_table const& shards, std::size_t axis) {
    std::vector<index_t> begins;
    for (std::size_t i = 0; i < shards.size(); ++i)
        if (box const region = shards.region(i); !is_empty(region))
            add_begins(begins, region, shards.cycles(i), axis);
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    return begins;
}

/// Whether these are the begins of equal parts of an axis of that extent.
constexpr bool are_even(std::vector<index_t> const& begins, index_t extent) {
    auto const count = static_cast<index_t>(begins.size());
    if (count > 1 && extent % count != 0)
        return false;
    for (index_t i = 0; i < count && count > 1; ++i)
        if (begins[static_cast<std::size_t>(i)] != i * (extent / count))
            return false;
    return true;
}

/// Records how an axis is cut whose parts begin there.
///
/// \pre the axes before it have been added
constexpr void add_parts(catalog_entry& entry, std::size_t axis,
                         std::vector<index_t> const& begins) {
    entry.parts.push_back(std::max<index_t>(1, static_cast<index_t>(begins.size())));
    if (!are_even(begins, entry.shape[axis]))
        entry.uneven = static_cast<std::uint8_t>(entry.uneven | 1u << axis);
}

/// What a program sees of a tensor: along each axis, how many different places there are at which
/// shards that are not empty begin, and whether they are those of equal parts.
///
/// \par Source the shard count of PaddlePaddle's macros counts the distinct offsets of all axes
///             together, so that a 2 x 2 grid counts 4, and takes all parts to be equal; here each
///             axis counts for itself
constexpr catalog_entry entry_of(tensor_layout const& tensor) {
    catalog_entry entry{tensor.key, tensor.dtype, tensor.shape, {}};
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis)
        add_parts(entry, axis, begins_of(tensor.shards, axis));
    return entry;
}

} // namespace detail

/// The catalog of a layout: its tensors without who holds what.
constexpr catalog catalog_of(layout const& whole_layout) {
    std::vector<catalog_entry> entries;
    entries.reserve(whole_layout.tensors.size());
    for (tensor_layout const& tensor : whole_layout.tensors)
        entries.push_back(detail::entry_of(tensor));
    return catalog(std::move(entries));
}

} // namespace reshard

#endif
