// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_AOA_MEGATRON_HPP
#define RESHARD_BENCH_AOA_MEGATRON_HPP

#include "aoa_job.hpp"
#include "model_layout.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Programs from Hugging Face's names to Megatron-Core's, for published models.

namespace bench {

/// Writes the program of one model, and the target tensors of each rank of Megatron.
class megatron_writer {
public:
    megatron_writer(std::string name, model const& described, parallelism const& mesh)
        : m_(described), mesh_(mesh), placed_(m_, mesh_) {
        job_.name = std::move(name);
        job_.source = layout_of(m_, {});
    }

    aoa_job write() {
        add_ends();
        std::string const from = "model.layers.$LAYER_ID.", to = "decoder.layers.$LAYER_ID.";
        say_layer(from, to);
        if (m_.dense_layers > 0)
            say_feed_forward(from + "mlp.", to + "mlp.");
        if (m_.is_latent)
            add_prediction();
        for (layer_ = 0; layer_ < m_.layers; ++layer_)
            want_layer("decoder.layers." + std::to_string(layer_) + ".");
        job_.target = reshard::layout_of(std::move(targets_));
        job_.target.holders = static_cast<holder_t>(mesh_.ranks());
        return std::move(job_);
    }

private:
    using lister = model_lister;

    void say(std::string const& statement) { job_.text += statement + '\n'; }

    void say_renamed(std::string const& from, std::string const& to) { say(from + " -> " + to); }

    void want(std::string key, index_vector const& shape, role cut = role::replicated,
              index_t expert = 0) {
        model_tensor tensor{std::move(key), shape, data_type::bf16, cut, layer_, expert};
        distribution const distribution = placed_(tensor);
        targets_.push_back(reshard::sharding_of(std::move(tensor.key), tensor.dtype, distribution));
    }

    /// Adds the embedding, the norm after the last layer, and the head.
    void add_ends() {
        say_renamed("model.embed_tokens.weight", "embedding.word_embeddings.weight");
        say_renamed("model.norm.weight", "decoder.final_layernorm.weight");
        want("embedding.word_embeddings.weight", {m_.vocabulary, m_.hidden}, role::by_rows);
        want("decoder.final_layernorm.weight", {m_.hidden});
        if (m_.is_tied)
            return;
        say_renamed("lm_head.weight", "output_layer.weight");
        want("output_layer.weight", {m_.vocabulary, m_.hidden}, role::by_rows);
    }

    /// Adds the prediction layer after the last layer. It has copies of the embedding and the head.
    void add_prediction() {
        std::string const from = "model.layers." + std::to_string(m_.layers) + ".";
        std::string const to = "mtp.layers.0.";
        say_layer(from, to + "transformer_layer.");
        say_renamed(from + "embed_tokens.weight", "_");
        say_renamed(from + "shared_head.head.weight", "_");
        say_renamed(from + "shared_head.norm.weight", to + "final_layernorm.weight");
        want(to + "final_layernorm.weight", {m_.hidden});
        for (std::string const name : {"enorm.weight", "hnorm.weight"}) {
            say_renamed(from + name, to + name);
            want(to + name, {m_.hidden});
        }
        say_renamed(from + "eh_proj.weight", to + "eh_proj.weight");
        want(to + "eh_proj.weight", {m_.hidden, 2 * m_.hidden}, role::by_rows);
        layer_ = m_.layers;
        want_layer(to + "transformer_layer.");
    }

    bool has_experts() const { return m_.experts > 0; }

    /// The key of the norm before the feed-forward layers.
    std::string second_norm() const {
        return has_experts() ? "pre_mlp_layernorm.weight" : "mlp.linear_fc1.layer_norm_weight";
    }

    std::string first_norm() const {
        return m_.is_latent ? "input_layernorm.weight"
                            : "self_attention.linear_qkv.layer_norm_weight";
    }

    void say_layer(std::string const& from, std::string const& to) {
        say_renamed(from + "input_layernorm.weight", to + first_norm());
        say_renamed(from + "post_attention_layernorm.weight", to + second_norm());
        if (m_.is_latent)
            say_latent_attention(from + "self_attn.", to + "self_attention.");
        else
            say_attention(from + "self_attn.", to + "self_attention.");
        if (has_experts())
            say_experts(from + "mlp.", to + "mlp.");
        else
            say_feed_forward(from + "mlp.", to + "mlp.");
    }

    void say_attention(std::string const& from, std::string const& to) {
        say(from + "q_proj.weight, " + from + "k_proj.weight, " + from + "v_proj.weight -> " + to +
            "linear_qkv.weight, fused_qkv, num_q_heads=" + std::to_string(m_.heads) +
            ", num_kv_heads=" + std::to_string(m_.groups) + ", axis=0");
        say_renamed(from + "o_proj.weight", to + "linear_proj.weight");
        if (!m_.has_head_norms)
            return;
        say_renamed(from + "q_norm.weight", to + "q_layernorm.weight");
        say_renamed(from + "k_norm.weight", to + "k_layernorm.weight");
    }

    void say_latent_attention(std::string const& from, std::string const& to) {
        say_renamed(from + "q_a_proj.weight", to + "linear_q_down_proj.weight");
        say_renamed(from + "q_a_layernorm.weight", to + "linear_q_up_proj.layer_norm_weight");
        say_renamed(from + "q_b_proj.weight", to + "linear_q_up_proj.weight");
        say_renamed(from + "kv_a_proj_with_mqa.weight", to + "linear_kv_down_proj.weight");
        say_renamed(from + "kv_a_layernorm.weight", to + "linear_kv_up_proj.layer_norm_weight");
        say_renamed(from + "kv_b_proj.weight", to + "linear_kv_up_proj.weight");
        say_renamed(from + "o_proj.weight", to + "linear_proj.weight");
    }

    void say_feed_forward(std::string const& from, std::string const& to) {
        say(from + "gate_proj.weight, " + from + "up_proj.weight -> " + to +
            "linear_fc1.weight, fused_ffn, axis=0");
        say_renamed(from + "down_proj.weight", to + "linear_fc2.weight");
    }

    void say_experts(std::string const& from, std::string const& to) {
        say_renamed(from + "gate.weight", to + "router.weight");
        if (m_.is_latent) {
            say_renamed(from + "gate.e_score_correction_bias", to + "router.expert_bias");
            say_feed_forward(from + "shared_experts.", to + "shared_experts.");
        }
        std::string const expert = from + "experts.$EXPERT_ID.";
        std::string const local = to + "experts.local_experts.$EXPERT_ID.";
        say(expert + "gate_proj.weight, " + expert + "up_proj.weight -> " + local +
            "linear_fc1.weight, axis=0");
        say_renamed(expert + "down_proj.weight", local + "linear_fc2.weight");
    }

    void want_layer(std::string const& prefix) {
        want(prefix + first_norm(), {m_.hidden});
        want(prefix + second_norm(), {m_.hidden});
        m_.is_latent ? want_latent_attention(prefix + "self_attention.")
                     : want_attention(prefix + "self_attention.");
        if (has_experts() && layer_ >= m_.dense_layers)
            want_experts(prefix + "mlp.");
        else
            want_feed_forward(prefix + "mlp.", m_.feed_forward);
    }

    void want_attention(std::string const& prefix) {
        want(prefix + "linear_qkv.weight", {(m_.heads + 2 * m_.groups) * m_.head_size, m_.hidden},
             role::by_rows);
        want(prefix + "linear_proj.weight", {m_.hidden, m_.heads * m_.head_size}, role::by_columns);
        if (!m_.has_head_norms)
            return;
        want(prefix + "q_layernorm.weight", {m_.head_size});
        want(prefix + "k_layernorm.weight", {m_.head_size});
    }

    void want_latent_attention(std::string const& prefix) {
        index_t const q = lister::query_rank, kv = lister::key_value_rank;
        want(prefix + "linear_q_down_proj.weight", {q, m_.hidden});
        want(prefix + "linear_q_up_proj.layer_norm_weight", {q});
        want(prefix + "linear_q_up_proj.weight", {m_.heads * (lister::plain + lister::rotary), q},
             role::by_rows);
        want(prefix + "linear_kv_down_proj.weight", {kv + lister::rotary, m_.hidden});
        want(prefix + "linear_kv_up_proj.layer_norm_weight", {kv});
        want(prefix + "linear_kv_up_proj.weight", {m_.heads * 2 * lister::plain, kv},
             role::by_rows);
        want(prefix + "linear_proj.weight", {m_.hidden, m_.heads * lister::plain},
             role::by_columns);
    }

    void want_feed_forward(std::string const& prefix, index_t inner) {
        want(prefix + "linear_fc1.weight", {2 * inner, m_.hidden}, role::by_rows);
        want(prefix + "linear_fc2.weight", {m_.hidden, inner}, role::by_columns);
    }

    void want_experts(std::string const& prefix) {
        index_t const inner = m_.expert_feed_forward;
        want(prefix + "router.weight", {m_.experts, m_.hidden});
        if (m_.is_latent) {
            want(prefix + "router.expert_bias", {m_.experts});
            targets_.back().dtype = data_type::f32;
            want_feed_forward(prefix + "shared_experts.", inner);
        }
        for (index_t expert = 0; expert < m_.experts; ++expert) {
            std::string const local = prefix + "experts.local_experts." + std::to_string(expert);
            want(local + ".linear_fc1.weight", {2 * inner, m_.hidden}, role::expert, expert);
            want(local + ".linear_fc2.weight", {m_.hidden, inner}, role::expert, expert);
        }
    }

    model const& m_;
    parallelism const& mesh_;
    model_placer placed_;
    aoa_job job_;
    std::vector<reshard::tensor_sharding> targets_;
    index_t layer_ = 0;
};

} // namespace bench

#endif
