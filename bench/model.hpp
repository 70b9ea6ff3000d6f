// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_MODEL_HPP
#define RESHARD_BENCH_MODEL_HPP

#include <reshard/core/data_type.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Tensors of published models: names and shapes, computed from a few dimensions.

namespace bench {

using reshard::data_type;
using reshard::index_t;
using reshard::index_vector;

/// The sizes of a transformer. Zero: the model does not have such a layer.
struct model {
    index_t vocabulary = 0;
    index_t hidden = 0;
    index_t layers = 0;
    index_t heads = 0;
    index_t groups = 0; ///< the number of key heads, and of value heads
    index_t head_size = 0;
    index_t feed_forward = 0;
    index_t experts = 0;
    index_t expert_feed_forward = 0;
    index_t dense_layers = 0; ///< the first layers, which have no experts
    bool has_head_norms = false;
    bool is_latent = false; ///< multi-head latent attention, a shared expert, a prediction layer
    bool is_tied = false;   ///< the head is the embedding
};

inline constexpr model smollm2_135m{.vocabulary = 49152,
                                    .hidden = 576,
                                    .layers = 30,
                                    .heads = 9,
                                    .groups = 3,
                                    .head_size = 64,
                                    .feed_forward = 1536,
                                    .is_tied = true};
inline constexpr model llama3_8b{128256, 4096, 32, 32, 8, 128, 14336};
inline constexpr model llama3_70b{128256, 8192, 80, 64, 8, 128, 28672};
inline constexpr model llama3_405b{128256, 16384, 126, 128, 8, 128, 53248};
inline constexpr model qwen3_235b{.vocabulary = 151936,
                                  .hidden = 4096,
                                  .layers = 94,
                                  .heads = 64,
                                  .groups = 4,
                                  .head_size = 128,
                                  .experts = 128,
                                  .expert_feed_forward = 1536,
                                  .has_head_norms = true};
inline constexpr model qwen3_30b{.vocabulary = 151936,
                                 .hidden = 2048,
                                 .layers = 48,
                                 .heads = 32,
                                 .groups = 4,
                                 .head_size = 128,
                                 .experts = 128,
                                 .expert_feed_forward = 768,
                                 .has_head_norms = true};
inline constexpr model deepseek_v3{.vocabulary = 129280,
                                   .hidden = 7168,
                                   .layers = 61,
                                   .heads = 128,
                                   .feed_forward = 18432,
                                   .experts = 256,
                                   .expert_feed_forward = 2048,
                                   .dense_layers = 3,
                                   .is_latent = true};

/// How parallelism divides a tensor.
enum class role { replicated, by_rows, by_columns, expert };

/// One tensor and its position in the model.
struct model_tensor {
    std::string key;
    index_vector shape;
    data_type dtype = data_type::bf16;
    role cut = role::replicated;
    index_t layer = 0;
    index_t expert = 0;
    bool is_of_groups = false; ///< rows are key or value heads
};

/// Lists the tensors of a model. The head and the norm after the last layer belong to that layer.
class model_lister {
public:
    explicit model_lister(model const& described) : m_(described) {}

    std::vector<model_tensor> list() {
        prefix_ = "model.";
        add("embed_tokens.weight", {m_.vocabulary, m_.hidden}, role::by_rows);
        for (layer_ = 0; layer_ < m_.layers; ++layer_)
            add_layer();
        if (m_.is_latent) {
            add_layer();
            add_prediction();
        }
        layer_ = m_.layers - 1;
        prefix_ = "model.";
        add("norm.weight", {m_.hidden});
        prefix_.clear();
        if (!m_.is_tied)
            add("lm_head.weight", {m_.vocabulary, m_.hidden}, role::by_rows);
        return std::move(all_);
    }

    /// Sizes of latent attention.
    static constexpr index_t query_rank = 1536, key_value_rank = 512, rotary = 64, plain = 128;

private:
    void add(std::string const& name, index_vector const& shape, role cut = role::replicated) {
        all_.push_back({prefix_ + name, shape, data_type::bf16, cut, layer_});
    }

    void add_layer() {
        std::string const prefix = "model.layers." + std::to_string(layer_) + ".";
        prefix_ = prefix;
        add("input_layernorm.weight", {m_.hidden});
        add("post_attention_layernorm.weight", {m_.hidden});
        prefix_ = prefix + "self_attn.";
        m_.is_latent ? add_latent_attention() : add_attention();
        prefix_ = prefix + "mlp.";
        if (m_.experts == 0 || layer_ < m_.dense_layers)
            add_feed_forward(m_.feed_forward);
        else
            add_experts();
        prefix_ = prefix;
    }

    void add_attention() {
        index_t const h = m_.hidden;
        add("q_proj.weight", {m_.heads * m_.head_size, h}, role::by_rows);
        for (char const* const name : {"k_proj.weight", "v_proj.weight"}) {
            add(name, {m_.groups * m_.head_size, h}, role::by_rows);
            all_.back().is_of_groups = true;
        }
        add("o_proj.weight", {h, m_.heads * m_.head_size}, role::by_columns);
        if (m_.has_head_norms) {
            add("q_norm.weight", {m_.head_size});
            add("k_norm.weight", {m_.head_size});
        }
    }

    void add_latent_attention() {
        index_t const h = m_.hidden;
        add("q_a_proj.weight", {query_rank, h});
        add("q_a_layernorm.weight", {query_rank});
        add("q_b_proj.weight", {m_.heads * (plain + rotary), query_rank}, role::by_rows);
        add("kv_a_proj_with_mqa.weight", {key_value_rank + rotary, h});
        add("kv_a_layernorm.weight", {key_value_rank});
        add("kv_b_proj.weight", {m_.heads * 2 * plain, key_value_rank}, role::by_rows);
        add("o_proj.weight", {h, m_.heads * plain}, role::by_columns);
    }

    void add_feed_forward(index_t inner) {
        add("gate_proj.weight", {inner, m_.hidden}, role::by_rows);
        add("up_proj.weight", {inner, m_.hidden}, role::by_rows);
        add("down_proj.weight", {m_.hidden, inner}, role::by_columns);
    }

    void add_experts() {
        std::string const prefix = prefix_;
        add("gate.weight", {m_.experts, m_.hidden});
        if (m_.is_latent) {
            add("gate.e_score_correction_bias", {m_.experts});
            all_.back().dtype = data_type::f32;
            prefix_ = prefix + "shared_experts.";
            add_feed_forward(m_.expert_feed_forward);
        }
        for (index_t expert = 0; expert < m_.experts; ++expert) {
            std::size_t const first = all_.size();
            prefix_ = prefix + "experts." + std::to_string(expert) + ".";
            add_feed_forward(m_.expert_feed_forward);
            for (std::size_t i = first; i < all_.size(); ++i) {
                all_[i].cut = role::expert;
                all_[i].expert = expert;
            }
        }
    }

    /// Adds the tensors of the prediction layer, which predicts one more token.
    void add_prediction() {
        index_t const h = m_.hidden;
        for (char const* const name : {"enorm.weight", "hnorm.weight", "shared_head.norm.weight"})
            add(name, {h});
        add("eh_proj.weight", {h, 2 * h});
        add("shared_head.head.weight", {m_.vocabulary, h}, role::by_rows);
        add("embed_tokens.weight", {m_.vocabulary, h}, role::by_rows);
    }

    model m_;
    index_t layer_ = 0;
    std::string prefix_;
    std::vector<model_tensor> all_;
};

} // namespace bench

#endif
