// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_SMALL_MOE_HPP
#define RESHARD_TEST_SUPPORT_SMALL_MOE_HPP

#include <reshard/model/fully_shard.hpp>
#include <reshard/model/optimizer_state.hpp>
#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/zero.hpp>

#include <boost/assert.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// A small mixture of experts, uneven on purpose, and its state under any strategy.

namespace reshard::test {

using namespace reshard::detail;
using namespace reshard::model;

/// The degrees of a strategy such as `d2t2`: data, tensor, pipeline and expert parallel.
///
/// With experts, `d` counts their copies; the other tensors have `d * e`. Experts are cut by as many
/// tensor-parallel ranks as the rest.
inline parallelism degrees_of(std::string_view name) {
    parallelism job;
    index_t copies = 1;
    for (std::size_t i = 0; i + 1 < name.size(); i += 2) {
        index_t const degree = name[i + 1] - '0';
        switch (name[i]) {
        case 'd': copies = degree; break;
        case 't': job.tp = job.etp = degree; break;
        case 'p': job.pp = degree; break;
        default: BOOST_ASSERT(name[i] == 'e'); job.ep = degree;
        }
    }
    job.dp = copies * job.ep;
    return job;
}

/// 5 layers, of which the first is dense, 4 experts, 13 words.
class small_moe {
public:
    static constexpr index_t layers = 5, experts = 4, words = 13, hidden = 12;

    /// `tied`: the embedding is the head.
    small_moe(parallelism const& degrees, bool tied)
        : job_(degrees, uneven_pipeline(layers, degrees.pp), experts) {
        tensor_cut const rows = vocabulary_parallel(padded_vocabulary(words, 4, degrees.tp));
        add({.key = "model.embed_tokens.weight",
             .shape = {words, hidden},
             .cut = rows,
             .stage = tied ? on_both_ends() : on_first_stage()});
        for (index_t layer = 0; layer < layers; ++layer)
            add_layer(layer);
        add({.key = "model.norm.weight", .shape = {hidden}, .stage = on_last_stage()});
        if (!tied)
            add({.key = "lm_head.weight",
                 .shape = {words, hidden},
                 .cut = rows,
                 .stage = on_last_stage()});
    }

    parallel_job const& job() const { return job_; }
    std::vector<tensor_sharding> const& parameters() const { return parameters_; }

private:
    void add(parallel_tensor const& tensor) { parameters_.push_back(sharding_of(tensor, job_)); }

    void add_layer(index_t layer) {
        std::string const prefix = "model.layers." + std::to_string(layer) + ".";
        stage_place const here = on_layer(layer);
        auto const weight = [&](std::string_view name, index_vector const& shape, tensor_cut cut) {
            add({.key = prefix + std::string(name), .shape = shape, .cut = cut, .stage = here});
        };
        weight("input_layernorm.weight", {hidden}, replicated());
        // 4 query heads of 3 in 2 groups, each with a key and a value head.
        weight("self_attn.qkv.weight", {24, hidden}, fused_qkv_cut(4, 2));
        weight("self_attn.qkv.bias", {24}, fused_qkv_cut(4, 2));
        weight("self_attn.o_proj.weight", {hidden, 12}, row_parallel());
        weight("post_attention_layernorm.weight", {hidden}, replicated());
        if (expert_layers{.first = 1}.contains(layer))
            return add_experts(layer, prefix + "mlp.");
        weight("mlp.gate_up.weight", {16, hidden}, fused_gate_up());
        weight("mlp.down.weight", {hidden, 8}, row_parallel());
    }

    void add_experts(index_t layer, std::string const& prefix) {
        stage_place const here = on_layer(layer);
        add({.key = prefix + "gate.weight",
             .shape = {experts, hidden},
             .dtype = data_type::f32,
             .stage = here});
        add({.key = prefix + "gate.bias",
             .shape = {experts},
             .dtype = data_type::f32,
             .stage = here});
        for (index_t i = 0; i < experts; ++i) {
            std::string const expert = prefix + "experts." + std::to_string(i) + ".";
            add({.key = expert + "gate_up.weight",
                 .shape = {8, hidden},
                 .cut = fused_gate_up(),
                 .stage = here,
                 .expert = i});
            add({.key = expert + "down.weight",
                 .shape = {hidden, 4},
                 .cut = row_parallel(),
                 .stage = here,
                 .expert = i});
        }
    }

    parallel_job job_;
    std::vector<tensor_sharding> parameters_;
};

/// What data-parallel ranks share.
enum class sharing {
    nothing,
    zero_1,      ///< state, in the buckets of Megatron-Core
    zero_3,      ///< parameters and state, in padded slices, except the smallest
    sharding_v1, ///< state, in whole tensors
    sharding_v2, ///< state, in small fused buffers
    fsdp_2,      ///< parameters and state, in rows
};

/// The parameters as `fully_shard` cuts them, each part of a fused one for itself.
inline std::vector<tensor_sharding> fully_sharded(std::vector<tensor_sharding> tensors) {
    for (tensor_sharding& tensor : tensors)
        for (sharding_part& part : tensor.parts)
            part.spread = fully_shard(
                part.spread, find_axis(part.spread.ranks(), "edp") ? "edp" : "dp", tensor.key);
    return tensors;
}

/// The layout of the parameters and of their state.
inline std::vector<tensor_sharding> with_state(std::vector<tensor_sharding> parameters,
                                               sharing sharing,
                                               std::vector<state_kind> const& kinds) {
    std::vector<tensor_sharding> state = parameters;
    switch (sharing) {
    case sharing::nothing: break;
    case sharing::zero_1: state = shard_buffers(state, megatron_buckets); break;
    case sharing::zero_3: state = parameters = shard_slices(state, 24); break;
    case sharing::sharding_v1: state = shard_whole(state); break;
    case sharing::sharding_v2:
        state = shard_buffers(state, [](index_t ranks) {
            return buffer_rules{8, ranks * 5, 700, false};
        });
        break;
    case sharing::fsdp_2: state = parameters = fully_sharded(state); break;
    }
    for (tensor_sharding& each : states_of(state, kinds))
        parameters.push_back(std::move(each));
    return parameters;
}

} // namespace reshard::test

#endif
