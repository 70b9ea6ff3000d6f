// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_IMPL_GGUF_MODEL_IPP
#define RESHARD_FORMAT_GGUF_IMPL_GGUF_MODEL_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/gguf/gguf.hpp>
#include <reshard/format/gguf/impl/gguf_tokenizer.ipp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/pickle/pickle.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace reshard::detail {

/// The architecture in llama.cpp of a `model_type` of Hugging Face.
struct gguf_architecture {
    std::string_view model_type;
    std::string_view name;
};

inline constexpr gguf_architecture gguf_architectures[] = {
    {"deepseek_v2", "deepseek2"}, {"deepseek_v3", "deepseek2"}, {"gemma", "gemma"},
    {"gemma2", "gemma2"},         {"gemma3", "gemma3"},         {"gemma3_text", "gemma3"},
    {"gpt_oss", "gpt-oss"},       {"llama", "llama"},           {"mistral", "llama"},
    {"mixtral", "llama"},         {"qwen2", "qwen2"},           {"qwen2_moe", "qwen2moe"},
    {"qwen3", "qwen3"},           {"qwen3_moe", "qwen3moe"},
};

/// A value of the header that `config.json` has.
struct gguf_entry {
    std::string_view key; ///< after the name of the architecture and a dot
    /// `a|b`: the first member that exists. `a+b`: their sum. `=1`: a number.
    std::string_view members;
    gguf_value type = gguf_u32;
    bool is_needed = false; ///< without it, the file gets no values
};

/// \par Source the keys of gguf 0.19 (`gguf.constants.Keys`), and the configurations of Hugging
///             Face transformers 5.24
inline constexpr gguf_entry entries_of_all[] = {
    {"block_count", "num_hidden_layers", gguf_u32, true},
    {"context_length", "max_position_embeddings", gguf_u32, true},
    {"embedding_length", "hidden_size", gguf_u32, true},
    {"feed_forward_length", "intermediate_size", gguf_u32, true},
    {"attention.head_count", "num_attention_heads", gguf_u32, true},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", gguf_f32, true},
    {"rope.freq_base",
     "rope_theta|rope_parameters.rope_theta|rope_parameters.full_attention.rope_theta", gguf_f32},
    {"vocab_size", "vocab_size"},
    {"expert_count", "num_local_experts|num_experts|n_routed_experts"},
    {"expert_used_count", "num_experts_per_tok|experts_per_token"},
};

/// Of architectures with equal heads for keys and values.
inline constexpr gguf_entry entries_of_heads[] = {
    {"attention.head_count_kv", "num_key_value_heads|num_attention_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.value_length", "head_dim"},
};

inline constexpr gguf_entry entries_of_gemma[] = {
    {"attention.sliding_window", "sliding_window", gguf_u32, true},
    {"attn_logit_softcapping", "attn_logit_softcapping", gguf_f32},
    {"final_logit_softcapping", "final_logit_softcapping", gguf_f32},
};

inline constexpr gguf_entry entries_of_qwen_experts[] = {
    {"expert_feed_forward_length", "moe_intermediate_size", gguf_u32, true},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
};

inline constexpr gguf_entry entries_of_gpt_oss[] = {
    {"attention.sliding_window", "sliding_window", gguf_u32, true},
    {"expert_feed_forward_length", "intermediate_size", gguf_u32, true},
};

inline constexpr gguf_entry entries_of_deepseek[] = {
    {"leading_dense_block_count", "first_k_dense_replace", gguf_u32, true},
    {"attention.q_lora_rank", "q_lora_rank"},
    {"attention.kv_lora_rank", "kv_lora_rank", gguf_u32, true},
    {"rope.dimension_count", "qk_rope_head_dim", gguf_u32, true},
    {"expert_feed_forward_length", "moe_intermediate_size", gguf_u32, true},
    {"expert_shared_count", "n_shared_experts", gguf_u32, true},
    {"expert_weights_scale", "routed_scaling_factor", gguf_f32, true},
    {"expert_weights_norm", "norm_topk_prob", gguf_boolean},
    {"expert_group_count", "n_group"},
    {"expert_group_used_count", "topk_group"},
};

/// Of DeepSeek with one projection of keys and values (`attn_kv_b`).
inline constexpr gguf_entry entries_of_joined_heads[] = {
    {"attention.head_count_kv", "num_key_value_heads|num_attention_heads"},
    {"attention.key_length", "qk_nope_head_dim+qk_rope_head_dim", gguf_u32, true},
    {"attention.value_length", "v_head_dim", gguf_u32, true},
};

/// Of DeepSeek with separate projections of keys and values (`attn_k_b`, `attn_v_b`). All heads
/// share a compressed key, whose length the cache has.
inline constexpr gguf_entry entries_of_compressed_heads[] = {
    {"attention.head_count_kv", "=1"},
    {"attention.key_length", "kv_lora_rank+qk_rope_head_dim", gguf_u32, true},
    {"attention.value_length", "kv_lora_rank", gguf_u32, true},
    {"attention.key_length_mla", "qk_nope_head_dim+qk_rope_head_dim", gguf_u32, true},
    {"attention.value_length_mla", "v_head_dim", gguf_u32, true},
};

/// Members that files of Gemma 3 omit, with the values that transformers then takes.
///
/// \par Source `Gemma3TextConfig` of Hugging Face transformers
inline constexpr std::pair<std::string_view, double> defaults_of_gemma3[] = {
    {"max_position_embeddings", 131072},
    {"num_attention_heads", 8},
    {"num_key_value_heads", 4},
    {"head_dim", 256},
    {"rms_norm_eps", 1e-6},
    {"vocab_size", 262208},
    {"rope_theta", 1e6},
    {"sliding_window", 4096},
};

/// Reads a model's values from its configuration.
class gguf_config {
public:
    gguf_config(json_cursor const& config, std::string_view architecture)
        : config_(config), architecture_(architecture) {}

    /// The name of a member that is needed but missing; empty if there is none.
    std::string const& lacking() const { return lacking_; }

    void add(gguf_value_list& values, std::span<gguf_entry const> entries) {
        for (gguf_entry const& entry : entries) {
            std::optional<double> const number =
                number_of(entry.members, entry.type == gguf_boolean);
            if (!number && entry.is_needed && lacking_.empty())
                lacking_ = entry.members;
            if (number)
                put(values, entry, *number);
        }
    }

    void put(gguf_value_list& values, gguf_entry const& entry, double number) const {
        std::string key = words(architecture_, ".", entry.key);
        if (entry.type == gguf_f32)
            return values.real(std::move(key), number);
        if (!(number >= 0 && number < 4294967296.0 && number == std::floor(number)))
            config_.refuse(words(entry.members, " is ", python_text(number),
                                 ", but must be a whole number from 0 to 2^32 - 1"));
        values.number(std::move(key), entry.type, static_cast<std::uint64_t>(number));
    }

    std::optional<double> number_of(std::string_view members, bool is_flag = false) const {
        if (members.starts_with('='))
            return members[1] - '0';
        if (std::size_t const plus = members.find('+'); plus != members.npos) {
            auto const a = number_of(members.substr(0, plus)),
                       b = number_of(members.substr(plus + 1));
            return a && b ? std::optional(*a + *b) : std::nullopt;
        }
        for (std::size_t begin = 0; begin <= members.size();) {
            std::size_t const end = std::min(members.find('|', begin), members.size());
            std::string_view const name = members.substr(begin, end - begin);
            if (auto const member = member_of(config_, name))
                return is_flag ? member->is_true() : member->number();
            if (auto const number = default_of(name))
                return number;
            begin = end + 1;
        }
        return std::nullopt;
    }

private:
    std::optional<double> default_of(std::string_view member) const {
        if (architecture_ == "gemma3")
            for (auto const& [name, value] : defaults_of_gemma3)
                if (name == member)
                    return value;
        return std::nullopt;
    }

    json_cursor config_;
    std::string_view architecture_;
    std::string lacking_;
};

/// Adds the scaling of rotary embeddings.
///
/// \return a sentence if the scaling cannot be stored; empty if it can
inline std::string add_rope_scaling(gguf_value_list& values, json_cursor const& config,
                                    std::string const& architecture, bool has_factors) {
    std::optional<json_cursor> scaling;
    for (std::string_view const path :
         {"rope_scaling", "rope_parameters.full_attention", "rope_parameters"})
        if (!scaling)
            scaling = member_of(config, path);
    auto type = scaling ? member_of(*scaling, "rope_type") : std::nullopt;
    if (!type && scaling)
        type = member_of(*scaling, "type");
    std::string const name = type && type->is_string() ? type->text() : "default";
    if (name == "default" || (name == "llama3" && has_factors))
        return {};
    if (name == "llama3")
        return "llama.cpp needs the tensor rope_freqs.weight for rope_scaling of type llama3, but "
               "it is not written";
    auto const factor = member_of(*scaling, "factor");
    if ((name != "linear" && name != "yarn") || !factor)
        return "rope_scaling of type " + name + " is not written";
    std::string const prefix = architecture + ".rope.scaling.";
    values.text(prefix + "type", name);
    values.real(prefix + "factor", factor->number());
    if (auto const length = member_of(*scaling, "original_max_position_embeddings"))
        gguf_config(*scaling, architecture)
            .put(values,
                 {"rope.scaling.original_context_length", "original_max_position_embeddings"},
                 length->number());
    for (auto const& [member, key] :
         {std::pair{"beta_fast", "yarn_beta_fast"}, {"beta_slow", "yarn_beta_slow"}})
        if (auto const value = member_of(*scaling, member); value && name == "yarn")
            values.real(prefix + key, value->number());
    if (auto const scale = member_of(*scaling, "mscale_all_dim");
        scale && architecture == "deepseek2")
        values.real(prefix + "yarn_log_multiplier", 0.1 * scale->number());
    return {};
}

/// Adds the number by which llama.cpp knows how DeepSeek weighs its experts.
inline void add_gating(gguf_value_list& values, json_cursor const& config,
                       std::string_view model_type) {
    auto const function = member_of(config, "scoring_func");
    bool const is_sigmoid = function ? function->text() == "sigmoid" : model_type == "deepseek_v3";
    values.number("deepseek2.expert_gating_func", gguf_u32, is_sigmoid ? 2 : 1);
}

/// Adds the sizes of a model.
///
/// \return the name of a member that is needed but missing; empty if there is none
inline std::string add_sizes(gguf_value_list& values, json_cursor const& config,
                             gguf_architecture const& model,
                             std::function<bool(std::string const&)> const& is_written) {
    gguf_config reader(config, model.name);
    auto const add = [&](std::span<gguf_entry const> entries) { reader.add(values, entries); };
    add(entries_of_all);
    if (model.name == "deepseek2") {
        add(entries_of_deepseek);
        add_gating(values, config, model.model_type);
        if (is_written("blk.0.attn_kv_b.weight"))
            add(entries_of_joined_heads);
        else
            add(entries_of_compressed_heads);
        return reader.lacking();
    }
    add(entries_of_heads);
    if (model.name == "gemma2" || model.name == "gemma3")
        add(entries_of_gemma);
    if (model.name.starts_with("qwen") && model.name.ends_with("moe"))
        add(entries_of_qwen_experts);
    if (model.name == "gpt-oss")
        add(entries_of_gpt_oss);
    return reader.lacking();
}

/// The end of a sentence about values that are missing.
inline constexpr std::string_view take_values_elsewhere =
    "; take the values from a GGUF file of the model (--like)";

/// The name of a directory, also if its path ends with a dot or a slash.
inline std::string name_of(std::filesystem::path const& directory) {
    return std::filesystem::absolute(directory / ".")
        .lexically_normal()
        .parent_path()
        .filename()
        .string();
}

/// The row of a configuration's model; std::nullopt for an unknown model.
inline std::optional<gguf_architecture> architecture_of(json_cursor const& config) {
    auto const type = member_of(config, "model_type");
    if (type && type->is_string())
        for (gguf_architecture const& architecture : gguf_architectures)
            if (type->text() == architecture.model_type)
                return architecture;
    return std::nullopt;
}

RESHARD_DECL gguf_metadata
gguf_metadata_of(std::filesystem::path const& directory,
                 std::function<bool(std::string const&)> const& is_written) {
    std::error_code ignored;
    std::filesystem::path const path = directory / hf_config_name;
    auto const without_values = [&](std::string const& why) -> gguf_metadata {
        return {{}, {words("the header has no values, because ", why, take_values_elsewhere)}};
    };
    if (!std::filesystem::is_regular_file(path, ignored))
        return without_values("the source has no config.json");
    model_file const file(directory, hf_config_name);
    json_cursor const root = file.root();
    auto const model = architecture_of(root);
    if (!model)
        return without_values(words("the model_type in ", path.string(), " is unknown"));
    json_cursor const config = member_of(root, "text_config").value_or(root);
    gguf_value_list values;
    values.text("general.architecture", model->name);
    values.text("general.type", "model");
    values.text("general.name", name_of(directory));
    values.number("general.file_type", gguf_u32, 0); // corrected when the file is planned
    if (std::string const lacking = add_sizes(values, config, *model, is_written); !lacking.empty())
        return without_values(words(path.string(), " does not have ", lacking));
    gguf_metadata result;
    if (std::string const note = add_rope_scaling(values, config, std::string(model->name),
                                                  is_written("rope_freqs.weight"));
        !note.empty())
        result.notes.push_back(note);
    if (std::string const why = add_tokenizer(
            values, directory, config, gguf_config(config, model->name).number_of("vocab_size"));
        !why.empty())
        result.notes.push_back(
            words("the tokenizer is not written, because ", why, take_values_elsewhere));
    if (!is_written("token_embd.weight"))
        result.notes.push_back("llama.cpp does not find the tensors by these names; it looks for "
                               "names such as token_embd.weight");
    result.values = values.take();
    result.notes.insert(result.notes.begin(),
                        words("the header gets ", counted(result.values.size(), "value"),
                              " of a model of the architecture ", model->name,
                              " from the files beside the source"));
    return result;
}

} // namespace reshard::detail

#endif
