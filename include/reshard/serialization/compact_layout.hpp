// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_COMPACT_LAYOUT_HPP
#define RESHARD_SERIALIZATION_COMPACT_LAYOUT_HPP

#include <reshard/serialization/layout.hpp>
#include <reshard/serialization/shard_grid.hpp>
#include <reshard/layout/compact_layout.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// Layouts by placements in archives: some hundred bytes a way of spreading, and each key once.

namespace reshard {

template <>
inline constexpr stored_form form_of<tensor_spread>{"way of spreading"};
template <>
inline constexpr stored_form form_of<compact_tensor>{"tensor"};
template <>
inline constexpr stored_form form_of<compact_layout>{"compact layout", 7, 2};

/// The shape; then which form it has, and that.
template <class Archive>
void write_to(Archive& archive, tensor_spread const& spread) {
    archive << spread.shape << static_cast<std::uint8_t>(spread.shards.index());
    if (auto const* const table = std::get_if<shard_table>(&spread.shards))
        archive << *table;
    else if (auto const* const grid = std::get_if<shard_grid>(&spread.shards))
        detail::write_grid(archive, *grid);
    else
        detail::write_grids(archive, std::get<grid_list>(spread.shards).grids());
}

/// A way of spreading as it is; the layout checks a table.
///
/// \throws error with errc::corrupt_file where grids contradict themselves, or each other
template <class Archive>
void read_from(Archive& archive, tensor_spread& spread) {
    archive >> spread.shape;
    detail::check_tensor("a tensor", data_type::u8, spread.shape);
    auto const form = detail::read_below<std::uint8_t>(archive, 3, "the form of the shards");
    if (form == 0) {
        shard_table table;
        archive >> table;
        spread.shards = std::move(table);
    } else if (form == 1) {
        spread.shards = detail::read_grid(archive, spread.shape);
    } else {
        spread.shards = detail::read_grids(archive, spread.shape);
    }
}

/// Key, data type, number of its way of spreading.
template <class Archive>
void write_to(Archive& archive, compact_tensor const& tensor) {
    detail::write_text(archive, tensor.key);
    detail::write_dtype(archive, tensor.dtype);
    archive << tensor.spread;
}

/// A tensor as it is; the layout checks it.
template <class Archive>
void read_from(Archive& archive, compact_tensor& tensor) {
    tensor.key = detail::read_text(archive);
    tensor.dtype = detail::read_dtype(archive);
    archive >> tensor.spread;
}

/// The number of holders, then each way of spreading, then each tensor.
template <class Archive>
void write_to(Archive& archive, compact_layout const& all) {
    archive << all.holders;
    detail::write_list(archive, all.spreads);
    detail::write_list(archive, all.tensors);
}

namespace detail {

/// \throws error with errc::corrupt_file where a grid has holders that there are not
inline void check_holders(shard_grid const& grid, holder_t holders) {
    if (end_of_holders(grid.first_holder(), held_axes(grid)) > holders)
        refuse_archive("has shards on " + std::to_string(grid.holder(grid.size() - 1) + 1) +
                       " ranks of " + std::to_string(holders));
}

/// \throws error where shards are not parts of their tensor, or of holders that there are not
inline void check_stored(tensor_spread const& spread, holder_t holders) {
    if (auto const* const table = std::get_if<shard_table>(&spread.shards))
        return check_stored({"a tensor", data_type::u8, spread.shape, *table}, holders);
    if (auto const* const grid = std::get_if<shard_grid>(&spread.shards))
        return check_holders(*grid, holders);
    for (flat_grid const& one : std::get<grid_list>(spread.shards).grids())
        check_holders(one.grid(), holders);
}

} // namespace detail

/// \throws error with errc::corrupt_file or errc::bad_layout where the invariants of a layout do
///         not hold
template <class Archive>
void read_from(Archive& archive, compact_layout& all) {
    archive >> all.holders;
    all.spreads = detail::read_list<tensor_spread>(archive);
    all.tensors = detail::read_list<compact_tensor>(archive);
    detail::check_sorted(all.tensors);
    for (tensor_spread const& spread : all.spreads)
        detail::check_stored(spread, all.holders);
    for (compact_tensor const& tensor : all.tensors) {
        if (tensor.spread >= all.spreads.size())
            detail::refuse_archive("has '" + tensor.key + "' spread in way " +
                                   std::to_string(tensor.spread) + " of " +
                                   std::to_string(all.spreads.size()));
        detail::check_tensor(tensor.key, tensor.dtype, all.spread_of(tensor).shape);
    }
}

} // namespace reshard

#endif
