// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_CASE_STATE_HPP
#define RESHARD_BENCH_CASE_STATE_HPP

#include "redistribution_case.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <functional>
#include <optional>
#include <vector>

/// \file
/// A case as the library sees it: state dicts and a mapping.

namespace bench {

/// Calls `visit(region, place)` for every box of what a rank holds: where it is in the array, and
/// in the local one.
inline void for_each_box(rank_part const& share,
                         std::function<void(reshard::box const&, index_vector const&)> const& visit,
                         reshard::box const& outer = {}, index_vector const& place = {}) {
    std::size_t const axis = outer.ndim();
    if (axis == share.axes.size())
        return visit(outer, place);
    index_t local = 0;
    for (interval const& one : share.axes[axis]) {
        reshard::box region = outer;
        index_vector inner = place;
        region.offset.push_back(one.begin);
        region.shape.push_back(one.size());
        inner.push_back(local);
        for_each_box(share, visit, region, inner);
        local += one.size();
    }
}

/// What a rank holds of a tensor: a shard for each box.
inline std::vector<reshard::shard_descriptor> descriptors_of(case_tensor const& tensor, int rank) {
    std::vector<reshard::shard_descriptor> all;
    for_each_box(tensor.of_rank(rank), [&](reshard::box const& region, index_vector const&) {
        all.push_back({tensor.key, tensor.dtype, tensor.shape, region, std::nullopt});
    });
    return all;
}

/// A rank's tensors of one side as a state dict: a shard for each box.
template <class View, class Byte>
reshard::basic_state_dict<View> state_of(std::vector<case_tensor> const& tensors, int rank,
                                         Byte* memory) {
    reshard::basic_state_dict<View> shards;
    memory_map const map(tensors, rank);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        case_tensor const& tensor = tensors[i];
        index_vector const strides = reshard::row_major_strides(tensor.of_rank(rank).shape());
        auto const add = [&](reshard::box const& region, index_vector const& place) {
            index_t const first = reshard::linear_offset(place, strides);
            shards.add({tensor.key, tensor.dtype, tensor.shape, region, std::nullopt},
                       View{memory + map.begins[i] + first * element_bytes(tensor.dtype),
                            tensor.dtype, region.shape, strides});
        };
        for_each_box(tensor.of_rank(rank), add);
    }
    return shards;
}

inline reshard::const_state_dict sources_of(redistribution_case const& moved, int rank,
                                            std::byte const* memory) {
    return state_of<reshard::const_tensor_view>(moved.sources, rank, memory);
}

inline reshard::state_dict targets_of(redistribution_case const& moved, int rank,
                                      std::byte* memory) {
    return state_of<reshard::tensor_view>(moved.targets, rank, memory);
}

/// What a program sees of the tensors of one side.
inline reshard::catalog catalog_of(std::vector<case_tensor> const& tensors, int ranks) {
    std::vector<std::vector<reshard::shard_descriptor>> held(static_cast<std::size_t>(ranks));
    for (case_tensor const& tensor : tensors)
        for (int rank = 0; rank < ranks; ++rank)
            for (auto& one : descriptors_of(tensor, rank))
                held[static_cast<std::size_t>(rank)].push_back(std::move(one));
    return reshard::catalog_of(reshard::layout_of(held));
}

/// The case's program, compiled; nothing where tensors keep their names.
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
