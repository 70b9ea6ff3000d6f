// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_CATALOG_HPP
#define RESHARD_LAYOUT_CATALOG_HPP

#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/layout/holder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The facts about a state dict that a program needs: keys, shapes, data types, and the number of
/// parts along each axis.

namespace reshard {

namespace detail {

/// A fused tensor: it consists of blocks along an axis, and each block has a part of each of
/// several other tensors.
///
/// The number of blocks shows for how many tensor-parallel ranks the tensor was made. Its elements
/// do not show that number.
struct fused_tensor {
    index_t axis = 0;
    index_t blocks = 1; ///< one block for each rank for which it was made
    std::string macro;  ///< the macro in a program: `fused_ffn, axis=0`

    auto operator<=>(fused_tensor const&) const = default;
};

/// Fused tensors by key.
using fused_tensors = std::map<std::string, fused_tensor, std::less<>>;

/// Records a rank that holds several parts of a tensor along one axis. If there is one, parts and
/// ranks do not correspond one to one.
struct scattered_parts {
    std::uint8_t axes = 0;  ///< bit `i` is set if a rank holds several parts along axis `i`
    holder_t rank = 0;      ///< such a rank, along the first such axis
    std::uint32_t held = 0; ///< the number of parts that the rank holds along that axis

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.axes, self.rank, self.held);
    }

    constexpr bool operator==(scattered_parts const&) const = default;
};

} // namespace detail

/// One tensor as programs see it.
struct catalog_entry {
    std::string key;
    data_type dtype{};
    index_vector shape;      ///< global
    index_vector parts;      ///< the number of parts along each axis: 1 if the axis is not cut
    std::uint8_t uneven = 0; ///< bit `i` is set if the parts along axis `i` are not equal
    detail::scattered_parts scattered = {}; ///< set if a rank holds several parts along an axis

    /// Whether the parts along an axis are equal.
    ///
    /// \pre `axis < shape.size()`
    constexpr bool is_even(std::size_t axis) const { return (uneven >> axis & 1) == 0; }

    /// Whether a rank holds several parts along an axis.
    ///
    /// \pre `axis < shape.size()`
    constexpr bool is_scattered(std::size_t axis) const {
        return (scattered.axes >> axis & 1) != 0;
    }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.shape, self.parts, self.uneven, self.scattered);
    }

    constexpr bool operator==(catalog_entry const&) const = default;
};

/// \throws error with errc::bad_layout or errc::overflow if the tensor is not valid, or if the
///         parts do not fit its axes
constexpr void validate(catalog_entry const& entry) {
    detail::check_tensor(entry.key, entry.dtype, entry.shape);
    if (entry.parts.size() != entry.shape.size() ||
        std::any_of(entry.parts.begin(), entry.parts.end(), [](index_t n) { return n < 1; }) ||
        entry.uneven >> entry.shape.size() != 0 || entry.scattered.axes >> entry.shape.size() != 0)
        fail(errc::bad_layout, "it has the parts ", entry.parts, " of '", entry.key, "', shape ",
             entry.shape);
}

namespace detail {

/// Finds the element with a given key in a list that is sorted by key; returns the end if there is
/// none.
template <class Keyed>
constexpr auto find_tensor(vector<Keyed> const& tensors, std::string_view key) {
    auto const position = std::lower_bound(
        tensors.begin(), tensors.end(), key,
        [](Keyed const& tensor, std::string_view sought) { return tensor.key < sought; });
    return position != tensors.end() && position->key == key ? position : tensors.end();
}

/// Throws if keys are out of order. This includes duplicate keys.
constexpr void check_sorted(auto const& list) {
    for (std::size_t i = 1; i < list.size(); ++i)
        if (!(list[i - 1].key < list[i].key))
            fail(errc::bad_layout, "it has '", list[i].key, "' after '", list[i - 1].key, "'");
}

/// A tensor that is listed with its values in f32, but stored in another form.
struct decoded_entry {
    std::string key;
    std::string scheme; ///< the form, such as `Q4_K` or `AWQ`

    bool operator==(decoded_entry const&) const = default;
};

/// Facts about quantised tensors, from the files and the configuration of a model.
struct quantisation_facts {
    /// The extents of blocks that share one scale, for the last axes of a tensor.
    vector<index_vector> blocks;
    /// True if input channels are reordered, so that any channel may belong to any group.
    bool is_reordered = false;
    vector<decoded_entry> decoded = {}; ///< sorted by key

    bool operator==(quantisation_facts const&) const = default;
};

} // namespace detail

/// The tensors of a state dict, sorted by key.
class catalog {
public:
    constexpr catalog() = default;

    /// \throws error with errc::bad_layout if a key appears twice
    constexpr explicit catalog(vector<catalog_entry> entries) : entries_(std::move(entries)) {
        detail::sort_by(entries_, [](auto const& a, auto const& b) { return a.key < b.key; });
        for (std::size_t i = 1; i < entries_.size(); ++i)
            if (entries_[i - 1].key == entries_[i].key)
                fail(errc::bad_layout, "'", entries_[i].key, "' appears twice in the catalog");
    }

    /// The entry with that key, or null.
    constexpr catalog_entry const* find(std::string_view key) const {
        auto const tensor = detail::find_tensor(entries_, key);
        return tensor != entries_.end() ? &*tensor : nullptr;
    }

    constexpr std::size_t size() const { return entries_.size(); }
    constexpr bool empty() const { return entries_.empty(); }
    constexpr auto begin() const { return entries_.begin(); }
    constexpr auto end() const { return entries_.end(); }
    constexpr catalog_entry const& operator[](std::size_t i) const { return entries_[i]; }

    static constexpr void members(auto& self, auto&& visit) { visit(self.entries_); }

    constexpr bool operator==(catalog const& tensors) const { return entries_ == tensors.entries_; }

    /// How tensors are quantised, if a configuration says so. Stored catalogs lack it, and
    /// comparisons ignore it.
    detail::quantisation_facts quantised{};

private:
    vector<catalog_entry> entries_;
};

namespace detail {

template <>
inline constexpr stored_form form_of<catalog>{"catalog", 3};

} // namespace detail

/// \throws error with errc::bad_layout if keys are out of order or if a key appears twice
constexpr void validate(catalog const& catalog) { detail::check_sorted(catalog); }

namespace detail {

/// True if `begins` are the offsets of equal parts of an axis of that extent.
constexpr bool are_even(vector<index_t> const& begins, index_t extent) {
    auto const count = static_cast<index_t>(begins.size());
    if (count > 1 && extent % count != 0)
        return false;
    for (index_t i = 0; i < count && count > 1; ++i)
        if (begins[static_cast<std::size_t>(i)] != i * (extent / count))
            return false;
    return true;
}

/// Records that a rank holds `held_count` parts along an axis, if it holds several.
constexpr void add_held(catalog_entry& entry, std::size_t axis, holder_t rank,
                        std::size_t held_count) {
    if (held_count < 2)
        return;
    if (entry.scattered.axes == 0)
        entry.scattered = {0, rank, static_cast<std::uint32_t>(held_count)};
    entry.scattered.axes = static_cast<std::uint8_t>(entry.scattered.axes | 1u << axis);
}

/// Records the number of parts along an axis.
///
/// \pre the preceding axes have been added
constexpr void add_parts(catalog_entry& entry, std::size_t axis, index_t count, bool is_even) {
    entry.parts.push_back(std::max<index_t>(1, count));
    if (!is_even)
        entry.uneven = static_cast<std::uint8_t>(entry.uneven | 1u << axis);
}

} // namespace detail

} // namespace reshard

#endif
