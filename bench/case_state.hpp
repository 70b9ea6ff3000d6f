// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_CASE_STATE_HPP
#define RESHARD_BENCH_CASE_STATE_HPP

#include "redistribution_case.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/job.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/layout/layout_of.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A case as the library sees it: state dicts, layouts and a mapping.

namespace bench {

/// Calls `visit(region, place)` for every box that a rank holds: its region in the global array,
/// and its position in the local array.
inline void for_each_box(rank_part const& share,
                         std::function<void(reshard::box const&, index_vector const&)> const& visit,
                         reshard::box const& outer = {}, index_vector const& position = {}) {
    std::size_t const axis = outer.ndim();
    if (axis == share.axes.size())
        return visit(outer, position);
    index_t local = 0;
    for (interval const& interval : share.axes[axis]) {
        reshard::box region = outer;
        index_vector inner = position;
        region.offset.push_back(interval.begin);
        region.shape.push_back(interval.size());
        inner.push_back(local);
        for_each_box(share, visit, region, inner);
        local += interval.size();
    }
}

/// The shards of a tensor that a rank holds: one for each box.
inline std::vector<reshard::shard_descriptor> descriptors_of(case_tensor const& tensor, int rank) {
    std::vector<reshard::shard_descriptor> shards;
    for_each_box(tensor.of_rank(rank), [&](reshard::box const& region, index_vector const&) {
        shards.push_back({tensor.key, tensor.dtype, tensor.shape, region, std::nullopt});
    });
    return shards;
}

/// The distribution of a tensor over a grid of ranks.
inline reshard::distribution distribution_of(case_tensor const& tensor, index_t ranks) {
    block_grid const& grid = *tensor.grid;
    std::vector<reshard::mesh_axis> axes{{"copies", ranks / grid.places()}};
    std::vector<reshard::placement> placements{reshard::replicate{}};
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
        axes.emplace_back("axis " + std::to_string(axis), grid.grid[axis]);
        placements.push_back(reshard::block_cyclic{axis, grid.block[axis]});
    }
    std::vector<reshard::holder_t> in_order;
    for (index_t index = 0; index < ranks; ++index)
        in_order.push_back(static_cast<reshard::holder_t>((index + grid.first) % ranks));
    return {reshard::rank_mesh(reshard::mesh(axes), in_order), placements, tensor.shape,
            tensor.key};
}

/// The layout of one side, which all ranks know if its tensors are on grids; else std::nullopt.
inline std::optional<reshard::layout> layout_of(std::vector<case_tensor> const& tensors) {
    std::vector<reshard::tensor_sharding> shardings;
    for (case_tensor const& tensor : tensors) {
        if (!tensor.grid)
            return std::nullopt;
        auto const ranks = static_cast<index_t>(tensor.by_rank.size());
        shardings.push_back(
            reshard::sharding_of(tensor.key, tensor.dtype, distribution_of(tensor, ranks)));
    }
    return reshard::layout_of(std::move(shardings));
}

/// A rank's tensors of one side: one local array for each.
template <class View, class Byte>
reshard::side<View> state_of(std::vector<case_tensor> const& tensors, int rank, Byte* memory) {
    reshard::side<View> side{{}, layout_of(tensors)};
    memory_map const map(tensors, rank);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        case_tensor const& tensor = tensors[i];
        index_vector const shape = tensor.of_rank(rank).shape();
        index_vector const strides = reshard::row_major_strides(shape);
        View const local{memory + map.begins[i], tensor.dtype, shape, strides};
        auto const add = [&](reshard::box const& region, index_vector const& position) {
            index_t const first = reshard::detail::linear_offset(position, strides);
            side.tensors.add({tensor.key, tensor.dtype, tensor.shape, region},
                             View{memory + map.begins[i] + first * element_bytes(tensor.dtype),
                                  tensor.dtype, region.shape, strides});
        };
        if (side.layout)
            side.tensors.add(tensor.key, *side.layout, static_cast<reshard::holder_t>(rank), local);
        else
            for_each_box(tensor.of_rank(rank), add);
    }
    return side;
}

inline reshard::source_tensors sources_of(redistribution_case const& moved, int rank,
                                          std::byte const* memory) {
    return state_of<reshard::const_tensor_view>(moved.sources, rank, memory);
}

inline reshard::target_tensors targets_of(redistribution_case const& moved, int rank,
                                          std::byte* memory) {
    return state_of<reshard::tensor_view>(moved.targets, rank, memory);
}

/// The shards of one side on all ranks.
inline reshard::layout listed_layout(std::vector<case_tensor> const& tensors, int ranks) {
    std::vector<std::vector<reshard::shard_descriptor>> shards(static_cast<std::size_t>(ranks));
    for (case_tensor const& tensor : tensors)
        for (int rank = 0; rank < ranks; ++rank)
            for (auto& descriptor : descriptors_of(tensor, rank))
                shards[static_cast<std::size_t>(rank)].push_back(std::move(descriptor));
    return reshard::layout_of(shards);
}

/// The tensors of one side, as a program sees them.
inline reshard::catalog catalog_of(std::vector<case_tensor> const& tensors, int ranks) {
    return reshard::catalog_of(listed_layout(tensors, ranks));
}

/// The case's compiled program; std::nullopt if tensors keep their names.
inline std::optional<reshard::mapping> program_of(redistribution_case const& moved) {
    if (moved.program.empty())
        return std::nullopt;
    auto const source = catalog_of(moved.sources, moved.ranks);
    auto const target = catalog_of(moved.targets, moved.ranks);
    auto const expanded = reshard::aoa::expand(reshard::aoa::parse(moved.program), source, &target);
    return reshard::aoa::lower(expanded.code, source, &target);
}

} // namespace bench

#endif
