// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_MODEL_LAYOUT_HPP
#define RESHARD_BENCH_MODEL_LAYOUT_HPP

#include "model.hpp"

#include <reshard/layout/layout_of.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// The layout of a model: a mesh and placements for each tensor.

namespace bench {

using reshard::distribution;
using reshard::layout;
using reshard::mesh;
using reshard::only;
using reshard::replicate;
using reshard::shard;
using reshard::tensor_layout;

/// How ranks divide a model: tensor, pipeline, expert and data parallel, or fully sharded.
///
/// Rank number: `t + tensor * (x + data * stage)`. A stage has `tensor * data` ranks. Each group of
/// `expert` ranks of a stage has all experts of the stage's layers.
struct parallelism {
    index_t tensor = 1;
    index_t pipeline = 1;
    index_t expert = 1;
    index_t data = 1;
    index_t fully_sharded = 0; ///< the ranks that share the rows of every tensor; 0: none
    bool in_slices = false;    ///< if fully sharded, cuts flat slices (ZeRO-3) instead of rows

    index_t stage_ranks() const { return tensor * data; }
    index_t ranks() const { return fully_sharded ? fully_sharded : stage_ranks() * pipeline; }
};

/// Finds the distribution of each tensor of a model, with replicas.
class model_placer {
public:
    model_placer(model const& described, parallelism const& ranks)
        : model_(described), ranks_(ranks) {}

    distribution operator()(model_tensor const& tensor) const {
        if (ranks_.fully_sharded && ranks_.in_slices)
            return {{{"dp", ranks_.fully_sharded}}, {replicate{}}, tensor.shape};
        if (ranks_.fully_sharded)
            return {{{"fsdp", ranks_.fully_sharded}}, {shard{0}}, tensor.shape};
        only const stage{stage_of(tensor.layer)};
        if (tensor.cut == role::expert)
            return {mesh{{"pp", ranks_.pipeline},
                         {"edp", ranks_.stage_ranks() / ranks_.expert},
                         {"ep", ranks_.expert}},
                    {stage, replicate{}, only{tensor.expert / (model_.experts / ranks_.expert)}},
                    tensor.shape};
        if (tensor.cut == role::replicated)
            return {mesh{{"pp", ranks_.pipeline}, {"dp", ranks_.stage_ranks()}},
                    {stage, replicate{}},
                    tensor.shape};
        index_t const shards =
            tensor.is_of_groups ? std::min(ranks_.tensor, model_.groups) : ranks_.tensor;
        std::size_t const axis = tensor.cut == role::by_rows ? 0 : 1;
        return {mesh{{"pp", ranks_.pipeline},
                     {"dp", ranks_.data},
                     {"tp", shards},
                     {"copies", ranks_.tensor / shards}},
                {stage, replicate{}, shard{axis}, replicate{}},
                tensor.shape};
    }

private:
    /// The stage of a layer. All stages have the same number of layers, or the first stages have
    /// one layer more.
    index_t stage_of(index_t layer) const {
        index_t const few = model_.layers / ranks_.pipeline;
        index_t const larger = model_.layers % ranks_.pipeline;
        index_t const in_larger = larger * (few + 1);
        index_t const stage =
            layer < in_larger ? layer / (few + 1) : larger + (layer - in_larger) / few;
        return std::min(stage, ranks_.pipeline - 1);
    }

    model const& model_;
    parallelism const& ranks_;
};

/// The layout of a model over the ranks of `division`.
inline layout layout_of(model const& described, parallelism const& division) {
    model_placer const placed(described, division);
    std::optional<reshard::detail::flat_sharing> flat;
    if (division.in_slices)
        flat = reshard::detail::flat_sharing{.axes = 1, .slices = {}};
    std::vector<reshard::tensor_sharding> tensors;
    for (model_tensor& tensor : model_lister(described).list()) {
        distribution distribution = placed(tensor);
        tensors.push_back(reshard::sharding_of(std::move(tensor.key), tensor.dtype,
                                               std::move(distribution), flat));
    }
    return reshard::layout_of(std::move(tensors));
}

} // namespace bench

#endif
