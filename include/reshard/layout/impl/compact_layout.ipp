// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_COMPACT_LAYOUT_IPP
#define RESHARD_LAYOUT_IMPL_COMPACT_LAYOUT_IPP

#include <reshard/layout/compact_layout.hpp>

#include <reshard/layout/impl/spread_numbers.ipp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace reshard {

namespace detail {

RESHARD_DECL tensor_shards tensor_spread::view() const {
    return std::visit([](auto const& held) { return tensor_shards(&held); }, shards);
}

RESHARD_DECL void check_apart(std::vector<flat_grid> const& grids, index_vector const& shape) {
    auto const place = [](flat_grid const& one) { return box{one.offset(), one.grid().shape()}; };
    for (std::size_t i = 0; i < grids.size(); ++i) {
        if (grids[i].offset().size() != shape.size() || !contains(whole(shape), place(grids[i])))
            fail(errc::bad_layout, "it has a grid of shape " + to_string(grids[i].grid().shape()) +
                                       " at offset " + to_string(grids[i].offset()) +
                                       ", which leaves a tensor of shape " + to_string(shape));
        for (std::size_t k = 0; k < i; ++k)
            if (auto const common = intersect(place(grids[i]), place(grids[k])))
                fail(errc::bad_layout,
                     "it has grids that share the elements " + to_string(*common));
    }
}

RESHARD_DECL void check_holders(shard_grid const& grid, holder_t holders) {
    if (index_t const end = end_of_holders(grid.recipe()); end > holders)
        fail(errc::bad_layout,
             "it has shards on " + std::to_string(end) + " ranks of " + std::to_string(holders));
}

RESHARD_DECL void validate(tensor_spread const& spread) {
    check_tensor("a tensor", data_type::u8, spread.shape);
    if (auto const* const table = std::get_if<shard_table>(&spread.shards))
        return validate(tensor_layout{"a tensor", data_type::u8, spread.shape, *table});
    if (auto const* const list = std::get_if<grid_list>(&spread.shards))
        return check_apart(list->grids(), spread.shape);
    if (auto const& grid = std::get<shard_grid>(spread.shards); grid.shape() != spread.shape)
        fail(errc::bad_layout, "it has a grid of shape " + to_string(grid.shape()) +
                                   " for a tensor of shape " + to_string(spread.shape));
}

} // namespace detail

RESHARD_DECL void validate(compact_layout const& all) {
    detail::check_sorted(all.tensors);
    for (detail::tensor_spread const& spread : all.spreads)
        if (auto const* const table = std::get_if<detail::shard_table>(&spread.shards))
            detail::check_holders(*table, "a tensor", all.holders);
        else if (auto const* const grid = std::get_if<detail::shard_grid>(&spread.shards))
            detail::check_holders(*grid, all.holders);
        else
            for (detail::flat_grid const& one : std::get<detail::grid_list>(spread.shards).grids())
                detail::check_holders(one.grid(), all.holders);
    for (detail::compact_tensor const& tensor : all.tensors) {
        if (tensor.spread >= all.spreads.size())
            fail(errc::bad_layout, "it has '" + tensor.key + "' spread in way " +
                                       std::to_string(tensor.spread) + " of " +
                                       std::to_string(all.spreads.size()));
        detail::check_tensor(tensor.key, tensor.dtype, all.spread_of(tensor).shape);
    }
}

RESHARD_DECL compact_layout compact_layout_of(layout all) {
    compact_layout result{all.holders, {}, {}};
    detail::spread_numbers numbers(result.spreads);
    for (tensor_layout& one : all.tensors) {
        std::uint32_t const number = numbers.number_of({one.shape, std::move(one.shards)});
        result.tensors.push_back({std::move(one.key), one.dtype, number});
    }
    return result;
}

RESHARD_DECL std::vector<shard_descriptor>
shards_of(compact_layout const& all, detail::compact_tensor const& tensor, holder_t rank) {
    detail::tensor_spread const& spread = all.spread_of(tensor);
    detail::tensor_shards const shards = spread.view();
    std::vector<shard_descriptor> held;
    shards.for_each_of(rank, [&](std::uint32_t i) {
        if (auto const flat = shards.flat(i); !flat || flat->size() > 0)
            held.push_back(
                {tensor.key, tensor.dtype, spread.shape, shards.region(i), flat, shards.cycles(i)});
    });
    return held;
}

RESHARD_DECL std::vector<shard_descriptor> shards_of(compact_layout const& all, holder_t rank) {
    std::vector<shard_descriptor> held;
    for (detail::compact_tensor const& tensor : all.tensors)
        for (shard_descriptor& shard : shards_of(all, tensor, rank))
            held.push_back(std::move(shard));
    return held;
}

RESHARD_DECL layout layout_of(compact_layout const& all) {
    layout result{all.holders, {}};
    for (detail::compact_tensor const& one : all.tensors) {
        detail::tensor_spread const& spread = all.spread_of(one);
        detail::tensor_shards const shards = spread.view();
        tensor_layout tensor{one.key, one.dtype, spread.shape,
                             detail::shard_table(spread.shape.size())};
        tensor.shards.reserve(shards.size());
        for (std::size_t i = 0; i < shards.size(); ++i)
            tensor.shards.push_back(shards.holder(i), shards.region(i), shards.flat(i),
                                    shards.cycles(i));
        result.tensors.push_back(std::move(tensor));
    }
    return result;
}

namespace detail {

RESHARD_DECL std::vector<index_t> begins_of(shard_grid const& grid, std::size_t axis) {
    box line = whole(grid.shape());
    for (std::size_t other = 0; other < grid.ndim(); ++other)
        if (other != axis)
            line.shape[other] = std::min<index_t>(1, line.shape[other]);
    std::vector<index_t> begins;
    grid.for_each_overlap(
        line, [&](std::uint32_t, box const& common) { begins.push_back(common.offset[axis]); });
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    return begins;
}

RESHARD_DECL std::vector<index_t> begins_of(grid_list const& all, std::size_t axis) {
    std::vector<index_t> begins;
    for (flat_grid const& one : all.grids())
        for (index_t const begin : begins_of(one.grid(), axis))
            begins.push_back(one.offset()[axis] + begin);
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    return begins;
}

} // namespace detail

RESHARD_DECL catalog catalog_of(compact_layout const& all) {
    std::vector<catalog_entry> kinds;
    for (detail::tensor_spread const& spread : all.spreads) {
        kinds.push_back({{}, {}, spread.shape, {}});
        for (std::size_t axis = 0; axis < spread.shape.size(); ++axis)
            detail::add_parts(
                kinds.back(), axis,
                std::visit([axis](auto const& shards) { return detail::begins_of(shards, axis); },
                           spread.shards));
    }
    std::vector<catalog_entry> entries;
    entries.reserve(all.tensors.size());
    for (detail::compact_tensor const& one : all.tensors) {
        entries.push_back(kinds[one.spread]);
        entries.back().key = one.key;
        entries.back().dtype = one.dtype;
    }
    return catalog(std::move(entries));
}

} // namespace reshard

namespace reshard::detail {

RESHARD_DECL held_tensor held_in(layout const&, tensor_layout const& tensor) {
    return {tensor.shape, tensor.dtype, &tensor.shards, no_spread};
}

RESHARD_DECL held_tensor held_in(compact_layout const& all, compact_tensor const& tensor) {
    tensor_spread const& spread = all.spread_of(tensor);
    return {spread.shape, tensor.dtype, spread.view(), tensor.spread};
}

} // namespace reshard::detail

#endif
