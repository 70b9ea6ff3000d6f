// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_LAYOUT_IPP
#define RESHARD_LAYOUT_IMPL_LAYOUT_IPP

#include <reshard/layout/layout.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/core/sorting.hpp>

#include <algorithm>
#include <utility>

namespace reshard {

namespace detail {

RESHARD_DECL tensor_shards tensor_spread::view() const {
    return std::visit([](auto const& held) { return tensor_shards(&held); }, shards);
}

inline void check_apart(vector<flat_grid> const& grids, std::string const& key,
                        index_vector const& shape) {
    auto const position_of = [](flat_grid const& flat_grid) {
        return box{flat_grid.offset(), flat_grid.grid().shape()};
    };
    for (std::size_t i = 0; i < grids.size(); ++i) {
        if (grids[i].offset().size() != shape.size() ||
            !contains(whole(shape), position_of(grids[i])))
            fail(errc::bad_layout, "it has a grid of shape ", grids[i].grid().shape(),
                 " at offset ", grids[i].offset(), ", which exceeds '", key, "', shape ", shape);
        for (std::size_t k = 0; k < i; ++k)
            if (auto const common = intersect(position_of(grids[i]), position_of(grids[k])))
                fail(errc::bad_layout, "it has grids of '", key, "' that share the elements ",
                     *common);
    }
}

/// Throws if a holder does not exist.
inline void check_holders(shard_grid const& grid, std::string const& key, holder_t holders) {
    if (index_t const end = end_of_holders(grid.recipe()); end > holders)
        fail(errc::bad_layout, "it has shards of '", key, "' on ", detail::counted(end, "rank"),
             ", but the layout has ", holders);
}

inline void check_holders(shard_table const& shards, std::string const& key, holder_t holders) {
    for (holder_t const holder : shards.holders())
        if (holder >= holders)
            fail(errc::bad_layout, "it has a shard of '", key, "' on rank ", holder,
                 ", but the layout has ", detail::counted(holders, "rank"));
}

inline void check_holders(grid_list const& list, std::string const& key, holder_t holders) {
    for (flat_grid const& flat_grid : list.recipe())
        check_holders(flat_grid.grid(), key, holders);
}

inline void check_shards(shard_table const& shards, std::string const& key,
                         index_vector const& shape) {
    if (shards.ndim() != shape.size())
        fail(errc::bad_layout, "it has shards of ", detail::counted(shards.ndim(), "axis"),
             " for '", key, "', shape ", shape);
    for (std::size_t i = 0; i < shards.size(); ++i)
        reshard::check(
            {key, data_type::u8, shape, shards.region(i), shards.flat(i), shards.cycles(i)});
}

inline void check_shards(shard_grid const& grid, std::string const& key,
                         index_vector const& shape) {
    if (grid.shape() != shape)
        fail(errc::bad_layout, "it has a grid of shape ", grid.shape(), " for '", key, "', shape ",
             shape);
}

inline void check_shards(grid_list const& list, std::string const& key, index_vector const& shape) {
    check_apart(list.recipe(), key, shape);
}

/// \param key a tensor with that spread; only for messages
inline void check_spread(tensor_spread const& spread, std::string const& key, holder_t holders) {
    check_tensor(key, data_type::u8, spread.shape);
    std::visit(
        [&](auto const& shards) {
            check_shards(shards, key, spread.shape);
            check_holders(shards, key, holders);
        },
        spread.shards);
}

} // namespace detail

RESHARD_DECL void validate(layout const& layout) {
    detail::check_sorted(layout.tensors);
    vector<std::string> names(layout.spreads.size(), "a tensor");
    for (tensor_layout const& tensor : layout.tensors)
        if (tensor.spread >= layout.spreads.size())
            fail(errc::bad_layout, "it has ", detail::counted(layout.spreads.size(), "spread"),
                 ", but '", tensor.key, "' names spread ", tensor.spread);
        else
            names[tensor.spread] = tensor.key;
    for (std::size_t i = 0; i < layout.spreads.size(); ++i)
        detail::check_spread(layout.spreads[i], names[i], layout.holders);
    for (tensor_layout const& tensor : layout.tensors)
        detail::check_tensor(tensor.key, tensor.dtype, layout.shape_of(tensor));
}

RESHARD_DECL vector<shard_descriptor> shards_of(layout const& layout, tensor_layout const& tensor,
                                                index_t rank) {
    detail::tensor_spread const& spread = layout.spread_of(tensor);
    detail::tensor_shards const shards = spread.view();
    vector<shard_descriptor> descriptors;
    if (!std::in_range<holder_t>(rank))
        return descriptors;
    shards.for_each_of(static_cast<holder_t>(rank), [&](std::uint32_t i) {
        if (auto const flat = shards.flat(i); !flat || flat->size() > 0)
            descriptors.push_back(
                {tensor.key, tensor.dtype, spread.shape, shards.region(i), flat, shards.cycles(i)});
    });
    return descriptors;
}

RESHARD_DECL vector<shard_descriptor> shards_of(layout const& layout, index_t rank) {
    vector<shard_descriptor> shards;
    for (tensor_layout const& tensor : layout.tensors)
        for (shard_descriptor& shard : shards_of(layout, tensor, rank))
            shards.push_back(std::move(shard));
    return shards;
}

namespace detail {

/// A list of shards whose holders are the ranks of files, not the files.
inline tensor_spread by_rank(tensor_spread const& spread, vector<holder_t> const& ranks) {
    auto const* const files = std::get_if<shard_table>(&spread.shards);
    if (!files || ranks.empty())
        return spread;
    shard_table shards(files->ndim());
    for (std::size_t i = 0; i < files->size(); ++i)
        shards.push_back(ranks[files->holder(i)], files->region(i), files->flat(i),
                         files->cycles(i));
    return {spread.shape, std::move(shards)};
}

/// Sets the number of parts of a fused tensor: the number for which it was made.
inline void set_parts(vector<catalog_entry>& sorted, std::string const& key,
                      fused_tensor const& tensor) {
    auto const position = find_tensor(sorted, key);
    auto const axis = static_cast<std::size_t>(tensor.axis);
    if (position == sorted.end() || axis >= position->shape.size())
        return;
    catalog_entry& entry = sorted[static_cast<std::size_t>(position - sorted.begin())];
    entry.parts[axis] = tensor.blocks;
    entry.uneven = static_cast<std::uint8_t>(entry.uneven & ~(1u << axis));
    entry.scattered.axes = static_cast<std::uint8_t>(entry.scattered.axes & ~(1u << axis));
}

} // namespace detail

RESHARD_DECL catalog catalog_of(layout const& layout) {
    vector<catalog_entry> kinds;
    for (detail::tensor_spread const& spread : layout.spreads)
        kinds.push_back(detail::entry_of(
            {}, {}, layout.ranks.empty() ? spread : detail::by_rank(spread, layout.ranks)));
    vector<catalog_entry> entries;
    entries.reserve(layout.tensors.size());
    for (tensor_layout const& tensor_layout : layout.tensors) {
        entries.push_back(kinds[tensor_layout.spread]);
        entries.back().key = tensor_layout.key;
        entries.back().dtype = tensor_layout.dtype;
        if (layout.has_global_order) {
            entries.back().parts = index_vector::filled(entries.back().shape.size(), 1);
            entries.back().uneven = 0;
            entries.back().scattered = {};
        }
    }
    for (auto const& [key, result] : layout.fused)
        detail::set_parts(entries, key, result);
    catalog tensors(std::move(entries));
    tensors.quantised = layout.quantised;
    return tensors;
}

namespace detail {

RESHARD_DECL catalog uncut_tensors(layout const& layout) {
    vector<catalog_entry> entries;
    entries.reserve(layout.tensors.size());
    for (tensor_layout const& tensor : layout.tensors) {
        index_vector const& shape = layout.shape_of(tensor);
        entries.push_back({tensor.key, tensor.dtype, shape, index_vector::filled(shape.size(), 1)});
    }
    return catalog(std::move(entries));
}

} // namespace detail

RESHARD_DECL tensor_layout const* layout::find(std::string_view key) const {
    auto const tensor = detail::find_tensor(tensors, key);
    return tensor != tensors.end() ? &*tensor : nullptr;
}

namespace detail {

/// A shard and its holder.
struct held_shard {
    shard_descriptor const* shard;
    holder_t holder;
};

/// All shards, sorted by key and then by holder.
inline vector<held_shard> sorted_by_key(vector<std::span<shard_descriptor const>> const& shards) {
    vector<held_shard> held_shards;
    for (std::size_t holder = 0; holder < shards.size(); ++holder)
        for (shard_descriptor const& shard : shards[holder]) {
            check(shard);
            held_shards.push_back({&shard, static_cast<holder_t>(holder)});
        }
    sort_by(held_shards,
            [](held_shard const& a, held_shard const& b) { return a.shard->key < b.shard->key; });
    return held_shards;
}

RESHARD_DECL layout layout_of_spans(vector<std::span<shard_descriptor const>> const& descriptors) {
    vector<held_shard> const held_shards = sorted_by_key(descriptors);
    layout_builder builder(static_cast<holder_t>(descriptors.size()));
    for (std::size_t i = 0; i < held_shards.size();) {
        shard_descriptor const& first = *held_shards[i].shard;
        holder_t const holder = held_shards[i].holder;
        shard_table shards(first.global_shape.size());
        for (; i < held_shards.size() && held_shards[i].shard->key == first.key; ++i) {
            shard_descriptor const& shard = *held_shards[i].shard;
            check_same_tensor(shard, held_shards[i].holder, first.global_shape, first.dtype,
                              holder);
            shards.push_back(held_shards[i].holder, shard.region, shard.flat, shard.cycles);
        }
        builder.add(first.key, first.dtype, {first.global_shape, std::move(shards)});
    }
    return std::move(builder).take();
}

} // namespace detail

RESHARD_DECL layout layout_of(vector<vector<shard_descriptor>> const& shards) {
    return detail::layout_of_spans({shards.begin(), shards.end()});
}

} // namespace reshard

namespace reshard::detail {

inline std::uint64_t digest_of(tensor_spread const& spread) {
    tensor_shards const shards = spread.view();
    hasher digest;
    digest.add(spread.shape);
    shards.add_geometry(digest);
    digest.add(std::uint64_t{shards.size()});
    if (shards.size() > 0)
        digest.add(std::uint64_t{shards.holder(0)} << 32 | shards.holder(shards.size() - 1));
    return digest.value();
}

RESHARD_DECL std::uint32_t layout_builder::number_of(tensor_spread spread) {
    std::uint32_t const number = spread_numbers_.number(
        digest_of(spread), [&](std::uint32_t i) { return made_.spreads[i] == spread; });
    if (number == made_.spreads.size())
        made_.spreads.push_back(std::move(spread));
    return number;
}

RESHARD_DECL void layout_builder::add(std::string key, data_type dtype, tensor_spread spread) {
    made_.tensors.push_back({std::move(key), dtype, number_of(std::move(spread))});
}

RESHARD_DECL layout layout_builder::take() && { return std::move(made_); }

RESHARD_DECL shard_descriptor descriptor_of(layout const& layout, tensor_layout const& tensor,
                                            std::size_t i) {
    tensor_shards const shards = layout.shards_of(tensor);
    return {tensor.key,       tensor.dtype,   layout.shape_of(tensor),
            shards.region(i), shards.flat(i), shards.cycles(i)};
}

RESHARD_DECL void check_same_tensor(shard_descriptor const& shard, holder_t holder,
                                    index_vector const& shape, data_type dtype, holder_t other) {
    if (shape != shard.global_shape)
        fail(errc::shape_mismatch, "'", shard.key, "' has the global shape ", shape, " on rank ",
             other, " and ", shard.global_shape, " on rank ", holder);
    if (dtype != shard.dtype)
        fail(errc::dtype_mismatch, "'", shard.key, "' has the data type ", dtype, " on rank ",
             other, " and ", shard.dtype, " on rank ", holder);
}

RESHARD_DECL shard_table listed(tensor_spread const& spread) {
    if (auto const* const table = std::get_if<shard_table>(&spread.shards))
        return *table;
    tensor_shards const shards = spread.view();
    shard_table table(spread.shape.size());
    table.reserve(shards.size());
    for (std::size_t i = 0; i < shards.size(); ++i)
        table.push_back(shards.holder(i), shards.region(i), shards.flat(i), shards.cycles(i));
    return table;
}

RESHARD_DECL shard_table blocks_listed(tensor_spread const& spread) {
    shard_table whole_shards = listed(spread);
    if (whole_shards.all_cycles().empty())
        return whole_shards;
    shard_table table(spread.shape.size());
    for (std::size_t i = 0; i < whole_shards.size(); ++i)
        if (whole_shards.cycles(i).empty())
            table.push_back(whole_shards[i]);
        else
            for (box const& block : whole_shards.boxes(i))
                table.push_back(whole_shards.holder(i), block);
    return table;
}

RESHARD_DECL layout listed(layout layout) {
    for (tensor_spread& spread : layout.spreads)
        spread.shards = listed(spread);
    return layout;
}

} // namespace reshard::detail

#endif
