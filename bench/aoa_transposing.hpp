// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_AOA_TRANSPOSING_HPP
#define RESHARD_BENCH_AOA_TRANSPOSING_HPP

#include "aoa_job.hpp"

#include <string>
#include <vector>

/// \file
/// Programs that transpose, fuse and stack `[out, in]` weights over 8 ranks.

namespace bench {

/// Llama-3 8B, with q, k and v fused, and gate and up fused.
class llama_writer {
public:
    aoa_job write() {
        add_statements();
        job_.have("model.embed_tokens.weight", {vocabulary, hidden});
        job_.have("lm_head.weight", {vocabulary, hidden});
        job_.have("model.norm.weight", {hidden});
        job_.want("embedding.weight", {vocabulary, hidden}, 0);
        job_.want("head.weight", {hidden, vocabulary}, 1);
        job_.want("norm.weight", {hidden});
        for (index_t layer = 0; layer < layers; ++layer) {
            add_source_layer("model.layers." + std::to_string(layer) + ".");
            add_target_layer("layers." + std::to_string(layer) + ".");
        }
        return job_.finish();
    }

private:
    static constexpr index_t layers = 32, hidden = 4096, inner = 14336, heads = 32, groups = 8,
                             vocabulary = 128256, head_size = hidden / heads;

    void add_statements() {
        std::string const a = "model.layers.$LAYER_ID.", b = "layers.$LAYER_ID.";
        job_.say("model.embed_tokens.weight -> embedding.weight");
        job_.say("lm_head.weight^T -> head.weight");
        job_.say("model.norm.weight -> norm.weight");
        job_.say(a + "self_attn.q_proj.weight^T, " + a + "self_attn.k_proj.weight^T, " + a +
                 "self_attn.v_proj.weight^T -> " + b + "qkv.weight, fused_qkv, num_heads = " +
                 std::to_string(heads) + ", num_key_value_groups = " + std::to_string(groups));
        job_.say(a + "self_attn.o_proj.weight^T -> " + b + "o.weight");
        job_.say(a + "mlp.gate_proj.weight^T, " + a + "mlp.up_proj.weight^T -> " + b +
                 "up_gate.weight, fused_ffn");
        job_.say(a + "mlp.down_proj.weight^T -> " + b + "down.weight");
        job_.say(a + "input_layernorm.weight -> " + b + "ln1.weight");
        job_.say(a + "post_attention_layernorm.weight -> " + b + "ln2.weight");
    }

    void add_source_layer(std::string const& prefix) {
        job_.have(prefix + "self_attn.q_proj.weight", {hidden, hidden});
        job_.have(prefix + "self_attn.k_proj.weight", {groups * head_size, hidden});
        job_.have(prefix + "self_attn.v_proj.weight", {groups * head_size, hidden});
        job_.have(prefix + "self_attn.o_proj.weight", {hidden, hidden});
        job_.have(prefix + "mlp.gate_proj.weight", {inner, hidden});
        job_.have(prefix + "mlp.up_proj.weight", {inner, hidden});
        job_.have(prefix + "mlp.down_proj.weight", {hidden, inner});
        job_.have(prefix + "input_layernorm.weight", {hidden});
        job_.have(prefix + "post_attention_layernorm.weight", {hidden});
    }

    void add_target_layer(std::string const& prefix) {
        job_.want(prefix + "qkv.weight", {hidden, (heads + 2 * groups) * head_size}, 1);
        job_.want(prefix + "o.weight", {hidden, hidden}, 0);
        job_.want(prefix + "up_gate.weight", {hidden, 2 * inner}, 1);
        job_.want(prefix + "down.weight", {inner, hidden}, 0);
        job_.want(prefix + "ln1.weight", {hidden});
        job_.want(prefix + "ln2.weight", {hidden});
    }

    aoa_job_writer job_{"llama", 8};
};

/// The size of a mixture of experts; by default, DeepSeek-V3's.
struct moe_size {
    index_t layers = 61;
    index_t experts = 256;
};

/// A mixture of experts. In each layer, its experts are stacked into two tensors, or renamed one by
/// one.
class moe_writer {
public:
    moe_writer(std::string name, bool stacks, moe_size const& size = {})
        : stacks_(stacks), size_(size), job_(std::move(name), ranks) {}

    aoa_job write() {
        add_statements();
        job_.have("model.embed_tokens.weight", {vocabulary, hidden});
        job_.have("lm_head.weight", {vocabulary, hidden});
        job_.have("model.norm.weight", {hidden});
        job_.want("embedding.weight", {vocabulary, hidden}, 0);
        job_.want("head.weight", {hidden, vocabulary}, 1);
        job_.want("norm.weight", {hidden});
        for (index_t layer = 0; layer < size_.layers; ++layer)
            add_layer(layer);
        return job_.finish();
    }

private:
    static constexpr index_t ranks = 8, dense_layers = 3, hidden = 7168, inner = 2048,
                             dense_inner = 18432, vocabulary = 129280;

    struct linear {
        char const* name;
        index_t out;
        index_t in;
        std::size_t cut; ///< the axis of the transposed weight that is cut
    };
    struct norm {
        char const* name;
        index_t extent;
    };

    static constexpr linear linears[] = {{"self_attn.q_a_proj", 1536, hidden, 1},
                                         {"self_attn.q_b_proj", 24576, 1536, 1},
                                         {"self_attn.kv_a_proj_with_mqa", 576, hidden, 1},
                                         {"self_attn.kv_b_proj", 32768, 512, 1},
                                         {"self_attn.o_proj", hidden, 16384, 0}};
    static constexpr norm norms[] = {{"self_attn.q_a_layernorm", 1536},
                                     {"self_attn.kv_a_layernorm", 512},
                                     {"input_layernorm", hidden},
                                     {"post_attention_layernorm", hidden}};
    static constexpr char const* projections[] = {"gate_proj", "up_proj", "down_proj"};

    void add_statements() {
        std::string const a = "model.layers.$LAYER_ID.", b = "layers.$LAYER_ID.";
        std::string const e = "mlp.experts.$EXPERT_ID.";
        job_.say("model.embed_tokens.weight -> embedding.weight");
        job_.say("lm_head.weight^T -> head.weight");
        job_.say("model.norm.weight -> norm.weight");
        for (linear const& element : linears)
            job_.say(a + element.name + ".weight^T -> " + b + element.name + ".weight");
        for (norm const& element : norms)
            job_.say(a + element.name + ".weight -> " + b + element.name + ".weight");
        job_.say(a + "mlp.gate.weight^T -> " + b + "router.weight");
        job_.say(a + "mlp.gate.e_score_correction_bias -> " + b + "router.bias");
        add_feed_forward_statements(a + "mlp.shared_experts.", b + "shared.");
        add_feed_forward_statements(a + "mlp.", b);
        if (stacks_) {
            job_.say(a + e + "gate_proj.weight^T, " + a + e + "up_proj.weight^T -> " + a + e +
                     "gu, axis=1");
            job_.say(a + e + "down_proj.weight^T -> " + a + e + "dn");
            return;
        }
        for (char const* const name : projections)
            job_.say(a + e + name + ".weight -> " + b + "experts.$EXPERT_ID." + name + ".weight");
    }

    void add_feed_forward_statements(std::string const& from, std::string const& to) {
        job_.say(from + "gate_proj.weight^T, " + from + "up_proj.weight^T -> " + to +
                 "up_gate.weight, fused_ffn");
        job_.say(from + "down_proj.weight^T -> " + to + "down.weight");
    }

    void add_layer(index_t layer) {
        std::string const from = "model.layers." + std::to_string(layer) + ".";
        std::string const to = "layers." + std::to_string(layer) + ".";
        for (linear const& element : linears) {
            job_.have(from + element.name + ".weight", {element.out, element.in});
            job_.want(to + element.name + ".weight", {element.in, element.out}, element.cut);
        }
        for (norm const& element : norms) {
            job_.have(from + element.name + ".weight", {element.extent});
            job_.want(to + element.name + ".weight", {element.extent});
        }
        if (layer < dense_layers)
            return add_feed_forward(from + "mlp.", to, dense_inner);
        job_.have(from + "mlp.gate.weight", {size_.experts, hidden});
        job_.have(from + "mlp.gate.e_score_correction_bias", {size_.experts});
        job_.want(to + "router.weight", {hidden, size_.experts});
        job_.want(to + "router.bias", {size_.experts});
        add_feed_forward(from + "mlp.shared_experts.", to + "shared.", inner);
        for (index_t expert = 0; expert < size_.experts; ++expert)
            add_feed_forward_source(from + "mlp.experts." + std::to_string(expert) + ".", inner);
        stacks_ ? add_stacks(from, to) : add_expert_targets(to);
    }

    void add_feed_forward(std::string const& from, std::string const& to, index_t extent) {
        add_feed_forward_source(from, extent);
        job_.want(to + "up_gate.weight", {hidden, 2 * extent}, 1);
        job_.want(to + "down.weight", {extent, hidden}, 0);
    }

    void add_feed_forward_source(std::string const& prefix, index_t extent) {
        job_.have(prefix + "gate_proj.weight", {extent, hidden});
        job_.have(prefix + "up_proj.weight", {extent, hidden});
        job_.have(prefix + "down_proj.weight", {hidden, extent});
    }

    void add_stacks(std::string const& from, std::string const& to) {
        for (auto const& [temporary, name] : {std::pair{"gu", "w1"}, std::pair{"dn", "w2"}}) {
            std::string statement;
            for (index_t expert = 0; expert < size_.experts; ++expert)
                statement += (expert == 0 ? "" : ",") + from + "mlp.experts." +
                             std::to_string(expert) + "." + temporary;
            job_.say(statement + " -> " + to + "experts." + name + ", axis=0");
        }
        job_.want(to + "experts.w1", {size_.experts * hidden, 2 * inner}, 0);
        job_.want(to + "experts.w2", {size_.experts * inner, hidden}, 0);
    }

    void add_expert_targets(std::string const& to) {
        for (index_t expert = 0; expert < size_.experts; ++expert)
            for (std::string const name : projections)
                job_.want_on(expert * ranks / size_.experts,
                             to + "experts." + std::to_string(expert) + "." + name + ".weight",
                             name == "down_proj" ? index_vector{hidden, inner}
                                                 : index_vector{inner, hidden});
    }

    bool stacks_;
    moe_size size_;
    aoa_job_writer job_;
};

} // namespace bench

#endif
