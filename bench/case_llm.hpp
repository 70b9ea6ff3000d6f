// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_CASE_LLM_HPP
#define RESHARD_BENCH_CASE_LLM_HPP

#include "model.hpp"
#include "redistribution_case.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A language model that changes its parallelism: many tensors, renamed and fused.

namespace bench {

/// 1.05 billion parameters in 291 tensors, from 4 KiB to 200 MiB of bf16. All axes are divided by
/// `scale`.
inline model one_billion(index_t scale) {
    index_t const head = std::max<index_t>(1, 64 / scale);
    return {.vocabulary = 800 * head,
            .hidden = 32 * head,
            .layers = 32,
            .heads = 32,
            .groups = 8,
            .head_size = head,
            .feed_forward = 40 * head};
}

/// Makes a case from two pipeline stages, each with tensor parallelism over half of the ranks, to
/// tensor parallelism over all ranks.
class llm_case_maker {
public:
    llm_case_maker(std::string name, int ranks, index_t scale)
        : model_(one_billion(scale)), ranks_(ranks) {
        made_.name = std::move(name);
        made_.ranks = ranks;
    }

    redistribution_case make() && {
        for (model_tensor const& tensor : model_lister(model_).list())
            add_source(tensor);
        keep("model.embed_tokens.weight", "embedding.weight");
        keep("model.norm.weight", "final_norm.weight");
        keep("lm_head.weight", "output.weight");
        for (index_t layer = 0; layer < model_.layers; ++layer)
            add_layer(layer);
        made_.program = program;
        return std::move(made_);
    }

private:
    static constexpr char const* program = R"(
model.embed_tokens.weight -> embedding.weight
model.norm.weight -> final_norm.weight
lm_head.weight -> output.weight
model.layers.$LAYER_ID.input_layernorm.weight -> layers.$LAYER_ID.attention.norm.weight
model.layers.$LAYER_ID.post_attention_layernorm.weight -> layers.$LAYER_ID.feed_forward.norm.weight
model.layers.$LAYER_ID.self_attn.q_proj.weight, model.layers.$LAYER_ID.self_attn.k_proj.weight,
    model.layers.$LAYER_ID.self_attn.v_proj.weight -> layers.$LAYER_ID.attention.qkv.weight,
    fused_qkv, num_heads=32, num_key_value_groups=8, axis=0
model.layers.$LAYER_ID.self_attn.o_proj.weight -> layers.$LAYER_ID.attention.output.weight
model.layers.$LAYER_ID.mlp.gate_proj.weight, model.layers.$LAYER_ID.mlp.up_proj.weight ->
    layers.$LAYER_ID.feed_forward.gate_up.weight, fused_ffn, axis=0
model.layers.$LAYER_ID.mlp.down_proj.weight -> layers.$LAYER_ID.feed_forward.down.weight
)";

    rank_part part_of(index_vector const& shape, role cut, index_t count, index_t i) const {
        if (cut == role::replicated)
            return whole_part(shape);
        return slab(shape, cut == role::by_rows ? 0 : 1, count, i);
    }

    void add_source(model_tensor const& tensor) {
        case_tensor source{tensor.key, tensor.dtype, tensor.shape, {}, {}};
        index_t const half = ranks_ / 2, stage = tensor.layer * 2 / model_.layers;
        for (index_t rank = 0; rank < ranks_; ++rank)
            source.by_rank.push_back(rank / half == stage
                                         ? part_of(tensor.shape, tensor.cut, half, rank % half)
                                         : no_part(tensor.shape.size()));
        numbers_[tensor.key] = {made_.sources.size(), tensor.cut};
        made_.sources.push_back(std::move(source));
    }

    void add_target(std::string key, index_vector const& shape, role cut) {
        case_tensor target{std::move(key), data_type::bf16, shape, {}, {}};
        for (index_t rank = 0; rank < ranks_; ++rank)
            target.by_rank.push_back(part_of(shape, cut, ranks_, rank));
        made_.targets.push_back(std::move(target));
    }

    /// Adds rows of a source, which become rows of the last target.
    void add_rows(std::string const& key, interval rows, index_t target_row) {
        std::size_t const source = numbers_.at(key).first;
        index_vector shape = made_.sources[source].shape;
        auto from = index_vector::filled(shape.size(), 0), to = from;
        shape[0] = rows.size();
        from[0] = rows.begin;
        to[0] = target_row;
        made_.pieces.push_back({source, made_.targets.size() - 1, from, to, shape,
                                permutation::identity(shape.size())});
    }

    /// Adds a tensor that only gets another name.
    void keep(std::string const& from, std::string to) {
        auto const& [number, cut] = numbers_.at(from);
        index_vector const shape = made_.sources[number].shape;
        add_target(std::move(to), shape, cut);
        add_rows(from, {0, shape[0]}, 0);
    }

    void add_layer(index_t layer) {
        std::string const from = "model.layers." + std::to_string(layer) + ".";
        std::string const to = "layers." + std::to_string(layer) + ".";
        keep(from + "input_layernorm.weight", to + "attention.norm.weight");
        keep(from + "post_attention_layernorm.weight", to + "feed_forward.norm.weight");
        fuse_heads(from + "self_attn.", to + "attention.qkv.weight");
        keep(from + "self_attn.o_proj.weight", to + "attention.output.weight");
        fuse_gates(from + "mlp.", to + "feed_forward.gate_up.weight");
        keep(from + "mlp.down_proj.weight", to + "feed_forward.down.weight");
    }

    /// Adds, for each group: its query heads, its key head, its value head.
    void fuse_heads(std::string const& from, std::string to) {
        index_t const head = model_.head_size, queries = model_.heads / model_.groups * head;
        add_target(std::move(to), {model_.groups * (queries + 2 * head), model_.hidden},
                   role::by_rows);
        for (index_t g = 0, row = 0; g < model_.groups; ++g, row += queries + 2 * head) {
            add_rows(from + "q_proj.weight", {g * queries, (g + 1) * queries}, row);
            add_rows(from + "k_proj.weight", {g * head, (g + 1) * head}, row + queries);
            add_rows(from + "v_proj.weight", {g * head, (g + 1) * head}, row + queries + head);
        }
    }

    /// Adds, for each rank: its rows of one matrix, then its rows of the other matrix.
    void fuse_gates(std::string const& from, std::string to) {
        index_t const rows = model_.feed_forward / ranks_;
        add_target(std::move(to), {2 * model_.feed_forward, model_.hidden}, role::by_rows);
        for (index_t rank = 0; rank < ranks_; ++rank) {
            interval const share{rank * rows, (rank + 1) * rows};
            add_rows(from + "gate_proj.weight", share, 2 * share.begin);
            add_rows(from + "up_proj.weight", share, 2 * share.begin + rows);
        }
    }

    model model_;
    index_t ranks_;
    std::map<std::string, std::pair<std::size_t, role>> numbers_; ///< by source key
    redistribution_case made_;
};

/// The case, if the ranks can divide the heads.
inline std::optional<redistribution_case> llm_case(std::string name, int ranks, index_t scale) {
    if (ranks % 2 != 0 || 8 % ranks != 0)
        return std::nullopt;
    return llm_case_maker(std::move(name), ranks, scale).make();
}

} // namespace bench

#endif
