// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "models.hpp"

#include <algorithm>
#include <iterator>

namespace tool {

using namespace reshard;

namespace {

enum class family { llama, qwen_experts, deepseek };

/// The sizes in the configurations of the models.
struct model {
    char const* name;
    family kind;
    index_t vocabulary, hidden, layers, heads, kv_heads, head_size, feed_forward;
    index_t experts = 0, expert_feed_forward = 0;
    bool tied = false; ///< the output layer shares the embedding, and is not stored
};

constexpr model models[] = {
    {"smollm2-135m", family::llama, 49152, 576, 30, 9, 3, 64, 1536, 0, 0, true},
    {"llama3-8b", family::llama, 128256, 4096, 32, 32, 8, 128, 14336},
    {"llama3-70b", family::llama, 128256, 8192, 80, 64, 8, 128, 28672},
    {"llama3-405b", family::llama, 128256, 16384, 126, 128, 8, 128, 53248},
    {"qwen3-30b", family::qwen_experts, 151936, 2048, 48, 32, 4, 128, 0, 128, 768},
    {"qwen3-235b", family::qwen_experts, 151936, 4096, 94, 64, 4, 128, 0, 128, 1536},
    {"dsv3-671b", family::deepseek, 129280, 7168, 61, 128, 128, 128, 18432, 256, 2048},
};

/// DeepSeek: the ranks of the two low-rank projections, the rotary size of a head, the number of
/// dense layers, and the number of additional layers for multi-token prediction.
constexpr index_t q_rank = 1536, kv_rank = 512, rotary_size = 64, dense_layers = 3,
                  extra_layers = 1;

index_t divided(char const* noun, index_t size, index_t scale) {
    if (scale < 1 || size % scale != 0)
        fail(errc::usage, "reshard synthesize: --scale " + std::to_string(scale) +
                              " does not divide the " + noun + ", which is " +
                              std::to_string(size));
    return size / scale;
}

model scaled(model of, index_t scale) {
    of.vocabulary = divided("vocabulary", of.vocabulary, scale);
    of.hidden = divided("hidden size", of.hidden, scale);
    of.feed_forward = divided("feed-forward size", of.feed_forward, scale);
    of.expert_feed_forward =
        divided("feed-forward size of an expert", of.expert_feed_forward, scale);
    return of;
}

/// Lists the tensors of one model.
class writer {
public:
    explicit writer(model const& of) : of_(of) {}

    catalog write() {
        add("model.embed_tokens.weight", {of_.vocabulary, of_.hidden});
        bool const has_extra = of_.kind == family::deepseek;
        for (index_t layer = 0; layer < of_.layers + (has_extra ? extra_layers : 0); ++layer)
            add_layer(layer);
        add("model.norm.weight", {of_.hidden});
        if (!of_.tied)
            add("lm_head.weight", {of_.vocabulary, of_.hidden});
        return catalog(std::move(tensors_));
    }

private:
    void add(std::string key, index_vector const& shape, data_type dtype = data_type::bf16) {
        tensors_.push_back({std::move(key), dtype, shape, index_vector::filled(shape.size(), 1)});
    }

    void add_layer(index_t layer) {
        std::string const prefix = "model.layers." + std::to_string(layer) + ".";
        if (of_.kind == family::deepseek)
            add_latent_attention(prefix + "self_attn.");
        else
            add_attention(prefix + "self_attn.");
        bool const is_dense =
            of_.experts == 0 || (of_.kind == family::deepseek && layer < dense_layers);
        if (is_dense)
            add_feed_forward(prefix + "mlp.", of_.feed_forward);
        else
            add_experts(prefix + "mlp.");
        add(prefix + "input_layernorm.weight", {of_.hidden});
        add(prefix + "post_attention_layernorm.weight", {of_.hidden});
        if (layer >= of_.layers)
            add_prediction(prefix);
    }

    void add_attention(std::string const& prefix) {
        index_t const query = of_.heads * of_.head_size, key = of_.kv_heads * of_.head_size;
        add(prefix + "q_proj.weight", {query, of_.hidden});
        add(prefix + "k_proj.weight", {key, of_.hidden});
        add(prefix + "v_proj.weight", {key, of_.hidden});
        add(prefix + "o_proj.weight", {of_.hidden, query});
        if (of_.kind != family::qwen_experts)
            return;
        add(prefix + "q_norm.weight", {of_.head_size});
        add(prefix + "k_norm.weight", {of_.head_size});
    }

    void add_latent_attention(std::string const& prefix) {
        index_t const size = of_.head_size;
        add(prefix + "q_a_proj.weight", {q_rank, of_.hidden});
        add(prefix + "q_a_layernorm.weight", {q_rank});
        add(prefix + "q_b_proj.weight", {of_.heads * (size + rotary_size), q_rank});
        add(prefix + "kv_a_proj_with_mqa.weight", {kv_rank + rotary_size, of_.hidden});
        add(prefix + "kv_a_layernorm.weight", {kv_rank});
        add(prefix + "kv_b_proj.weight", {of_.heads * 2 * size, kv_rank});
        add(prefix + "o_proj.weight", {of_.hidden, of_.heads * size});
    }

    void add_feed_forward(std::string const& prefix, index_t size) {
        add(prefix + "gate_proj.weight", {size, of_.hidden});
        add(prefix + "up_proj.weight", {size, of_.hidden});
        add(prefix + "down_proj.weight", {of_.hidden, size});
    }

    void add_experts(std::string const& prefix) {
        add(prefix + "gate.weight", {of_.experts, of_.hidden});
        if (of_.kind == family::deepseek) {
            add(prefix + "gate.e_score_correction_bias", {of_.experts}, data_type::f32);
            add_feed_forward(prefix + "shared_experts.", of_.expert_feed_forward);
        }
        for (index_t expert = 0; expert < of_.experts; ++expert)
            add_feed_forward(prefix + "experts." + std::to_string(expert) + ".",
                             of_.expert_feed_forward);
    }

    void add_prediction(std::string const& prefix) {
        add(prefix + "enorm.weight", {of_.hidden});
        add(prefix + "hnorm.weight", {of_.hidden});
        add(prefix + "eh_proj.weight", {of_.hidden, 2 * of_.hidden});
        add(prefix + "shared_head.norm.weight", {of_.hidden});
        add(prefix + "shared_head.head.weight", {of_.vocabulary, of_.hidden});
        add(prefix + "embed_tokens.weight", {of_.vocabulary, of_.hidden});
    }

    model of_;
    reshard::vector<catalog_entry> tensors_;
};

} // namespace

reshard::vector<std::string> model_names() {
    reshard::vector<std::string> names;
    for (model const& model : models)
        names.emplace_back(model.name);
    return names;
}

catalog tensors_of_model(std::string const& name, index_t scale) {
    auto const match = std::find_if(std::begin(models), std::end(models),
                                    [&](model const& model) { return name == model.name; });
    if (match == std::end(models)) {
        std::string known_names;
        for (model const& model : models)
            known_names += std::string(known_names.empty() ? "" : ", ") + model.name;
        fail(errc::usage,
             "reshard synthesize: unknown model '" + name + "'; the models are " + known_names);
    }
    return writer(scaled(*match, scale)).write();
}

} // namespace tool
