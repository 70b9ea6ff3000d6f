// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_COMPACT_LAYOUT_HPP
#define RESHARD_LAYOUT_COMPACT_LAYOUT_HPP

#include <reshard/layout/catalog.hpp>
#include <reshard/layout/tensor_shards.hpp>
#include <reshard/layout/validate_grids.hpp>

#include <boost/unordered/unordered_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// Who holds what of a whole state dict, in memory that does not grow with the number of ranks.

namespace reshard {

/// A way of spreading a tensor of one shape: computed where it can be.
struct tensor_spread {
    index_vector shape; ///< global
    std::variant<shard_table, shard_grid, grid_list> shards;

    /// The shards, which refer to this object.
    tensor_shards view() const {
        return std::visit([](auto const& held) { return tensor_shards(&held); }, shards);
    }

    static constexpr void members(auto& self, auto&& visit) { visit(self.shape, self.shards); }

    bool operator==(tensor_spread const&) const = default;
};

/// One tensor of a compact layout.
struct compact_tensor {
    std::string key;
    data_type dtype{};
    std::uint32_t spread = 0; ///< of the layout's spreads

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.spread);
    }

    bool operator==(compact_tensor const&) const = default;
};

/// All tensors of a state dict; those that are spread alike share a spread.
///
/// A layout of a thousand tensors over 100,000 ranks as a `layout` is 100 million boxes; here it is
/// a name, a data type and a number a tensor, and a few hundred bytes a way of spreading.
///
/// \invariant `tensors` is sorted by key, each key once; every holder is less than `holders`
struct compact_layout {
    holder_t holders = 0;
    std::vector<tensor_spread> spreads;
    std::vector<compact_tensor> tensors;

    /// \pre `tensor` is one of `tensors`
    tensor_spread const& spread_of(compact_tensor const& tensor) const {
        return spreads[tensor.spread];
    }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.holders, self.spreads, self.tensors);
    }

    bool operator==(compact_layout const&) const = default;
};

template <>
inline constexpr stored_form form_of<compact_layout>{"compact layout", 7};

namespace detail {

/// \throws error with errc::bad_layout where grids leave the tensor or overlap
inline void check_apart(std::vector<flat_grid> const& grids, index_vector const& shape) {
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

/// Refuses a grid with holders that there are not.
inline void check_holders(shard_grid const& grid, holder_t holders) {
    if (index_t const end = end_of_holders(grid.recipe()); end > holders)
        fail(errc::bad_layout,
             "it has shards on " + std::to_string(end) + " ranks of " + std::to_string(holders));
}

} // namespace detail

/// \throws error with errc::bad_layout or errc::overflow where shards are not parts of the tensor
inline void validate(tensor_spread const& spread) {
    check_tensor("a tensor", data_type::u8, spread.shape);
    if (auto const* const table = std::get_if<shard_table>(&spread.shards))
        return validate(tensor_layout{"a tensor", data_type::u8, spread.shape, *table});
    if (auto const* const list = std::get_if<grid_list>(&spread.shards))
        return detail::check_apart(list->grids(), spread.shape);
    if (auto const& grid = std::get<shard_grid>(spread.shards); grid.shape() != spread.shape)
        fail(errc::bad_layout, "it has a grid of shape " + to_string(grid.shape()) +
                                   " for a tensor of shape " + to_string(spread.shape));
}

/// \throws error with errc::bad_layout or errc::overflow where the invariant does not hold, or where a tensor is
///         spread in no way
inline void validate(compact_layout const& all) {
    detail::check_sorted(all.tensors);
    for (tensor_spread const& spread : all.spreads)
        if (auto const* const table = std::get_if<shard_table>(&spread.shards))
            detail::check_holders(*table, "a tensor", all.holders);
        else if (auto const* const grid = std::get_if<shard_grid>(&spread.shards))
            detail::check_holders(*grid, all.holders);
        else
            for (flat_grid const& one : std::get<grid_list>(spread.shards).grids())
                detail::check_holders(one.grid(), all.holders);
    for (compact_tensor const& tensor : all.tensors) {
        if (tensor.spread >= all.spreads.size())
            fail(errc::bad_layout, "it has '" + tensor.key + "' spread in way " +
                                       std::to_string(tensor.spread) + " of " +
                                       std::to_string(all.spreads.size()));
        check_tensor(tensor.key, tensor.dtype, all.spread_of(tensor).shape);
    }
}

namespace detail {

/// Numbers ways of spreading, equal ones alike.
class spread_numbers {
public:
    explicit spread_numbers(std::vector<tensor_spread>& spreads) : spreads_(spreads) {}

    std::uint32_t number_of(tensor_spread spread) {
        std::uint64_t const digest = digest_of(spread);
        auto const [first, last] = known_.equal_range(digest);
        for (auto place = first; place != last; ++place)
            if (spreads_[place->second] == spread)
                return place->second;
        auto const number = static_cast<std::uint32_t>(spreads_.size());
        known_.emplace(digest, number);
        spreads_.push_back(std::move(spread));
        return number;
    }

private:
    static std::uint64_t digest_of(tensor_spread const& spread) {
        tensor_shards const shards = spread.view();
        hasher digest;
        digest.add(spread.shape);
        shards.add_geometry(digest);
        digest.add(std::uint64_t{shards.size()});
        if (shards.size() > 0)
            digest.add(std::uint64_t{shards.holder(0)} << 32 | shards.holder(shards.size() - 1));
        return digest.value();
    }

    std::vector<tensor_spread>& spreads_;
    boost::unordered_multimap<std::uint64_t, std::uint32_t> known_;
};

} // namespace detail

/// The layout in which tensors that are spread alike share their list of shards.
inline compact_layout compact_layout_of(layout all) {
    compact_layout result{all.holders, {}, {}};
    detail::spread_numbers numbers(result.spreads);
    for (tensor_layout& one : all.tensors) {
        std::uint32_t const number = numbers.number_of({one.shape, std::move(one.shards)});
        result.tensors.push_back({std::move(one.key), one.dtype, number});
    }
    return result;
}

/// The same layout with all shards of all ranks listed.
inline layout layout_of(compact_layout const& all) {
    layout result{all.holders, {}};
    for (compact_tensor const& one : all.tensors) {
        tensor_spread const& spread = all.spread_of(one);
        tensor_shards const shards = spread.view();
        tensor_layout tensor{one.key, one.dtype, spread.shape, shard_table(spread.shape.size())};
        tensor.shards.reserve(shards.size());
        for (std::size_t i = 0; i < shards.size(); ++i)
            tensor.shards.push_back(shards.holder(i), shards.region(i), shards.flat(i));
        result.tensors.push_back(std::move(tensor));
    }
    return result;
}

namespace detail {

/// The different places at which shards that are not empty begin along an axis, in order.
inline std::vector<index_t> begins_of(shard_grid const& grid, std::size_t axis) {
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

/// The same of all grids together.
inline std::vector<index_t> begins_of(grid_list const& all, std::size_t axis) {
    std::vector<index_t> begins;
    for (flat_grid const& one : all.grids())
        for (index_t const begin : begins_of(one.grid(), axis))
            begins.push_back(one.offset()[axis] + begin);
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    return begins;
}

} // namespace detail

/// The catalog of a layout; each way of spreading is looked at once.
inline catalog catalog_of(compact_layout const& all) {
    std::vector<catalog_entry> kinds;
    for (tensor_spread const& spread : all.spreads) {
        kinds.push_back({{}, {}, spread.shape, {}});
        for (std::size_t axis = 0; axis < spread.shape.size(); ++axis)
            detail::add_parts(
                kinds.back(), axis,
                std::visit([axis](auto const& shards) { return detail::begins_of(shards, axis); },
                           spread.shards));
    }
    std::vector<catalog_entry> entries;
    entries.reserve(all.tensors.size());
    for (compact_tensor const& one : all.tensors) {
        entries.push_back(kinds[one.spread]);
        entries.back().key = one.key;
        entries.back().dtype = one.dtype;
    }
    return catalog(std::move(entries));
}

} // namespace reshard

#endif
