// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_LAYOUT_OF_IPP
#define RESHARD_LAYOUT_IMPL_LAYOUT_OF_IPP

#include <reshard/layout/layout_of.hpp>

#include <reshard/core/sorting.hpp>
#include <reshard/layout/distribution_grid.hpp>
#include <reshard/layout/shards_of.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace reshard {

namespace detail {

/// True if no two parts share elements.
inline bool are_apart(vector<sharding_part> const& segments) {
    for (std::size_t i = 0; i < segments.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            if (intersect(box{segments[i].offset, segments[i].spread.shape()},
                          box{segments[k].offset, segments[k].spread.shape()}))
                return false;
    return true;
}

RESHARD_DECL tensor_spread spread_of(tensor_sharding const& tensor) {
    bool const is_computed =
        std::ranges::all_of(tensor.parts, [](sharding_part const& sharding_part) {
            return sharding_part.spread.held_by().is_plain();
        });
    if (!is_computed)
        return {tensor.shape, table_over_listed(tensor.shape, tensor.parts)};
    if (tensor.parts.empty() || !are_apart(tensor.parts))
        return {tensor.shape, table_of(tensor)};
    if (tensor.parts.size() == 1 && !tensor.parts[0].flat &&
        tensor.parts[0].spread.shape() == tensor.shape)
        return {tensor.shape, grid_of(tensor.parts[0].spread)};
    vector<flat_grid> grids;
    for (sharding_part const& segment : tensor.parts)
        grids.push_back(flat_grid_of(segment));
    return {tensor.shape, grid_list(std::move(grids))};
}

/// The last rank that holds elements of these tensors, plus one.
inline holder_t end_of_ranks(vector<tensor_sharding> const& tensors) {
    holder_t end = 0;
    for (tensor_sharding const& sharding : tensors)
        for (sharding_part const& segment : sharding.parts)
            end = std::max(end, segment.spread.held_by().rank_end());
    return end;
}

} // namespace detail

RESHARD_DECL layout layout_of(vector<tensor_sharding> tensors) {
    detail::sort_by(tensors, [](auto const& a, auto const& b) { return a.key < b.key; });
    detail::layout_builder builder(detail::end_of_ranks(tensors));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        tensor_sharding& sharding = tensors[i];
        check(sharding);
        if (i + 1 < tensors.size() && tensors[i + 1].key == sharding.key)
            fail(errc::bad_layout, "'", sharding.key, "' of shape ", sharding.shape,
                 " appears twice in the layout; list each tensor once, and number the tensors of "
                 "experts and layers");
        builder.add(std::move(sharding.key), sharding.dtype, detail::spread_of(sharding));
    }
    return std::move(builder).take();
}

RESHARD_DECL layout layout_of(std::string key, data_type dtype, index_vector const& shape,
                              rank_mesh const& ranks, vector<placement> placements) {
    distribution spread(ranks, std::move(placements), shape, key);
    return layout_of({sharding_of(std::move(key), dtype, std::move(spread))});
}

RESHARD_DECL layout layout_of(std::string key, data_type dtype, index_vector const& shape,
                              mesh const& ranks, vector<placement> placements) {
    return layout_of(std::move(key), dtype, shape, rank_mesh(ranks), std::move(placements));
}

} // namespace reshard

#endif
