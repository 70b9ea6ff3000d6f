// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_MODEL_LAYOUT_HPP
#define RESHARD_BENCH_MODEL_LAYOUT_HPP

#include "model.hpp"

#include <reshard/shard/layout.hpp>

#include <algorithm>
#include <utility>
#include <vector>

/// \file
/// Who holds what of a model, with a box for each shard.

namespace bench {

using reshard::box;
using reshard::holder_t;
using reshard::layout;
using reshard::shard_table;
using reshard::tensor_layout;

/// How ranks divide a model: tensor, pipeline, expert and data parallel, or fully sharded.
///
/// Rank number: `t + tensor * (x + data * stage)`. `data` counts the ranks of a stage over `tensor`;
/// experts are spread over all ranks of a stage, modulo `expert`.
struct parallelism {
    index_t tensor = 1;
    index_t pipeline = 1;
    index_t expert = 1;
    index_t data = 1;
    index_t fully_sharded = 0; ///< ranks, each with some rows of every tensor; 0: not so

    index_t stage_ranks() const { return tensor * data; }
    index_t ranks() const { return fully_sharded ? fully_sharded : stage_ranks() * pipeline; }
};

/// Rows in pieces of equal height, rounded up; the last ranks may get fewer or none.
inline shard_table fully_sharded_table(index_vector const& shape, index_t ranks) {
    index_t const height = (shape[0] + ranks - 1) / ranks;
    shard_table table(shape.size());
    for (index_t rank = 0; rank * height < shape[0]; ++rank) {
        box region = reshard::whole(shape);
        region.offset[0] = rank * height;
        region.shape[0] = std::min(height, shape[0] - rank * height);
        table.push_back(static_cast<holder_t>(rank), region);
    }
    return table;
}

/// What each rank of a mesh holds, replicas and all.
class mesh_layout {
public:
    mesh_layout(model const& described, parallelism const& mesh) : model_(described), mesh_(mesh) {}

    shard_table table_of(model_tensor const& tensor) const {
        shard_table table(tensor.shape.size());
        index_t const base = stage_of(tensor.layer) * mesh_.stage_ranks();
        for (index_t i = 0; i < mesh_.stage_ranks(); ++i)
            if (holds(tensor, i))
                table.push_back(static_cast<holder_t>(base + i), region(tensor, i % mesh_.tensor));
        return table;
    }

private:
    /// Stages hold equally many layers; the first ones one more where that does not come out even.
    index_t stage_of(index_t layer) const {
        index_t const few = model_.layers / mesh_.pipeline;
        index_t const larger = model_.layers % mesh_.pipeline;
        index_t const in_larger = larger * (few + 1);
        index_t const stage =
            layer < in_larger ? layer / (few + 1) : larger + (layer - in_larger) / few;
        return std::min(stage, mesh_.pipeline - 1);
    }

    bool holds(model_tensor const& tensor, index_t in_stage) const {
        return tensor.cut != role::expert ||
               in_stage % mesh_.expert == tensor.expert / (model_.experts / mesh_.expert);
    }

    box region(model_tensor const& tensor, index_t t) const {
        box part = reshard::whole(tensor.shape);
        if (tensor.cut != role::by_rows && tensor.cut != role::by_columns)
            return part;
        std::size_t const axis = tensor.cut == role::by_rows ? 0 : 1;
        index_t const pieces =
            tensor.is_of_groups ? std::min(mesh_.tensor, model_.groups) : mesh_.tensor;
        part.shape[axis] = tensor.shape[axis] / pieces;
        part.offset[axis] = t * pieces / mesh_.tensor * part.shape[axis];
        return part;
    }

    model const& model_;
    parallelism const& mesh_;
};

/// The layout of a model over the ranks of `division`.
inline layout layout_of(model const& described, parallelism const& division) {
    layout result{static_cast<holder_t>(division.ranks()), {}};
    mesh_layout const mesh(described, division);
    for (model_tensor& tensor : model_lister(described).list()) {
        shard_table table = division.fully_sharded
                                ? fully_sharded_table(tensor.shape, division.fully_sharded)
                                : mesh.table_of(tensor);
        result.tensors.push_back(
            {std::move(tensor.key), tensor.dtype, tensor.shape, std::move(table)});
    }
    std::sort(result.tensors.begin(), result.tensors.end(),
              [](tensor_layout const& a, tensor_layout const& b) { return a.key < b.key; });
    return result;
}

} // namespace bench

#endif
