// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "fused_names.hpp"

#include <reshard/format/text_file.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tool {

using namespace reshard;

namespace {

/// Names of fused tensors. A row for a kind of model comes before that of any.
///
/// \par Source transformers (models/NAME/modeling_NAME.py), vLLM (model_executor/models), PyTorch,
///             PaddleFormers, Megatron-Core, timm and llama.cpp, as each row says
struct fused_table {
    static constexpr auto out_in = fused_side::out_in, in_out = fused_side::in_out,
                          longer = fused_side::longer;
    static constexpr auto parts = fused_order::parts, by_head = fused_order::by_head,
                          unknown = fused_order::unknown, plain = fused_order::plain;

    static constexpr std::string_view heads = "num_attention_heads|n_head|num_heads",
                                      groups = "num_key_value_heads|num_kv_heads|n_head_kv|"
                                               "num_attention_heads|n_head";

    static constexpr fused_name rows[] = {
        // gate and up
        {"gate_up_proj", "gpt_oss", in_out, by_head, "",
         "transformers gpt_oss: [..., ::2] is the gate"},
        {"gate_up_proj", "llama4_text", in_out, parts, "", "transformers llama4: chunk(2, dim=-1)"},
        {"gate_up_proj", "llama4", in_out, parts, "", "transformers llama4: chunk(2, dim=-1)"},
        {"gate_up_proj", "qwen3_moe", out_in, parts, "",
         "transformers qwen3_moe: experts, chunk(2)"},
        {"gate_up_proj", "mixtral", out_in, parts, "", "transformers mixtral: experts, chunk(2)"},
        {"gate_up_proj", "", longer, parts, "", "transformers, vLLM: gate, then up"},
        {"up_gate_proj", "", longer, parts, "", "PaddleFormers: fused_ffn of gate and up"},
        {"gate_up_fused_proj", "", longer, parts, "", "PaddleNLP: fuse_attention_ffn"},
        {"gateup", "", longer, parts, "", "servers of models: gate, then up"},
        {"gate_and_up_proj", "", longer, parts, "", "Hunyuan: two halves"},
        {"ffn_gate_up", "", longer, parts, "", "llama.cpp"},
        {"ffn_gate_up_exps", "", longer, parts, "", "llama.cpp"},
        {"w13", "", longer, parts, "", "vLLM fused_moe: w1 (gate), then w3 (up)"},
        {"w1w3", "", longer, parts, "", "SwiGLU with one matrix: gate, then up"},
        {"w12", "", longer, parts, "", "xFormers SwiGLU, DINOv2: chunk(2)"},
        {"weights_in", "", longer, parts, "", "transformers dinov2 SwiGLU: chunk(2)"},
        {"Wi", "modernbert", longer, parts, "", "transformers modernbert: input, then gate"},
        {"ff_proj", "", longer, unknown, "", "OLMo: up, then gate, where the activation is SwiGLU"},
        {"dense_h_to_4h", "gpt_neox", longer, plain, "", "transformers gpt_neox"},
        {"dense_h_to_4h", "bloom", longer, plain, "", "transformers bloom"},
        {"dense_h_to_4h", "falcon", longer, plain, "", "transformers falcon"},
        {"dense_h_to_4h", "chatglm", longer, unknown, "", "THUDM chatglm2 and 3: gate, then up"},
        {"dense_h_to_4h", "", longer, unknown, "", "Megatron-LM: gate, then up, with SwiGLU"},
        {"linear_fc1", "", longer, unknown, "", "Megatron-Core: gate, then up, with gated units"},
        // queries, keys, values
        {"query_key_value", "gpt_neox", longer, by_head, heads,
         "transformers gpt_neox: view(heads, 3, d)"},
        {"query_key_value", "gpt_neox_japanese", longer, by_head, heads,
         "transformers gpt_neox_japanese"},
        {"query_key_value", "bloom", longer, by_head, heads,
         "transformers bloom: view(heads, 3, d)"},
        {"query_key_value", "persimmon", longer, by_head, heads, "transformers persimmon"},
        {"query_key_value", "falcon", longer, unknown, groups,
         "transformers falcon: by group with "
         "new_decoder_architecture, q, k, v with multi_query, else by head"},
        {"query_key_value", "bailing_moe", longer, parts, "", "inclusionAI Ling: q, k, v"},
        {"query_key_value", "", longer, unknown, "", "Megatron-LM by group, ChatGLM2 q, k, v"},
        {"linear_qkv", "", longer, by_head, groups, "Megatron-Core: by group"},
        {"qkv_proj", "phi3", longer, parts, "", "transformers phi3: q, k, v"},
        {"qkv_proj", "codegen", longer, unknown, "",
         "transformers codegen: blocks of 4 processors"},
        {"qkv_proj", "fuyu", longer, by_head, heads, "transformers persimmon"},
        {"qkv_proj", "", longer, parts, "", "vLLM QKVParallelLinear: q, k, v"},
        {"wqkv", "internlm2", longer, by_head, groups, "InternLM2: by group"},
        {"wqkv", "", longer, unknown, "", "InternLM2 by group, gpt-fast q, k, v"},
        {"Wqkv", "", longer, parts, "", "MPT, DBRX, ModernBERT, flash-attn: q, k, v"},
        {"W_pack", "", longer, parts, "", "Baichuan: q, k, v"},
        {"att_proj", "", longer, parts, "", "OLMo: q, k, v"},
        {"c_attn", "gpt2", in_out, parts, "", "transformers gpt2, Conv1D [in, out]: q, k, v"},
        {"c_attn", "imagegpt", in_out, parts, "", "transformers imagegpt, Conv1D"},
        {"c_attn", "openai-gpt", in_out, parts, "", "transformers openai, Conv1D"},
        {"c_attn", "qwen", longer, parts, "", "Qwen 1: q, k, v"},
        {"c_attn", "gpt_bigcode", longer, unknown, "", "transformers gpt_bigcode: by multi_query"},
        {"c_attn", "", longer, parts, "", "nanoGPT, GPT-2: q, k, v"},
        {"qkv", "", longer, parts, "", "timm: reshape(3, heads, d); diffusers"},
        {"to_qkv", "", longer, parts, "", "lucidrains, diffusers: chunk(3)"},
        {"to_kv", "", out_in, parts, "", "lucidrains: chunk(2)"},
        {"add_kv_proj", "", out_in, unknown, "", "vLLM: q, k and v of the text"},
        {"kv", "", out_in, parts, "", "timm: reshape(2, heads, d)"},
        {"kv_proj", "", out_in, unknown, "", "k, v, in the order of each model"},
        {"kv_b_proj", "", longer, by_head, heads,
         "transformers deepseek_v3: of each head key and value"},
        {"attn_qkv", "", longer, parts, "", "llama.cpp: q, k, v, also of models by head"},
        {"in_proj_weight", "", longer, parts, "", "PyTorch nn.MultiheadAttention: q, k, v"},
        {"in_proj_bias", "", longer, parts, "", "PyTorch nn.MultiheadAttention: q, k, v"},
        {"fused_qkv", "", longer, unknown, "", "by the model"},
        // state spaces and linear attention
        {"in_proj_qkvz", "qwen3_next", longer, by_head, "linear_num_key_heads",
         "transformers qwen3_next: by group"},
        {"in_proj_qkvz", "", longer, unknown, "", "vLLM: q, k, v, z; qwen3_next by group"},
        {"in_proj_ba", "qwen3_next", longer, by_head, "linear_num_key_heads",
         "transformers qwen3_next: by group"},
        {"in_proj_ba", "", longer, unknown, "", "vLLM: b, a; qwen3_next by group"},
        {"in_proj_qkv", "", longer, parts, "", "transformers qwen3_5: q, k, v"},
        {"in_proj_z", "", longer, plain, "", "transformers qwen3_5"},
        {"in_proj_a", "", longer, plain, "", "transformers qwen3_5"},
        {"in_proj_b", "", longer, plain, "", "transformers qwen3_5"},
        {"in_proj", "", longer, parts, "", "Mamba: x, z; Mamba 2: z, x, B, C, dt"},
        // all other keys with these texts
        {"*qkv*", "", longer, unknown, "", "by the model"},
        {"*gate_up*", "", longer, parts, "", "gate, then up"},
        {"*linear_fc1*", "", longer, unknown, "", "Megatron-Core"},
        {"*fused_*", "", longer, unknown, "", "by the model"},
    };
};

/// Whether a part of a key is that name, alone or with an ending as of a weight, bias or scale.
bool names_part(std::string_view part, std::string_view name) {
    constexpr std::string_view endings[] = {"",        "_weight", "_bias",  "_blocks",
                                            "_scales", "_scale",  "_zeros", "_weight_scale"};
    if (!part.starts_with(name))
        return false;
    return std::ranges::find(endings, part.substr(name.size())) != std::end(endings);
}

bool matches_name(std::string_view key, std::string_view name) {
    if (name.starts_with('*'))
        return key.find(name.substr(1, name.size() - 2)) != key.npos;
    for (std::string_view rest = key;;) {
        std::size_t const end = rest.find_first_of("./");
        if (names_part(rest.substr(0, end), name))
            return true;
        if (end == rest.npos)
            return false;
        rest.remove_prefix(end + 1);
    }
}

void add_config(boost::json::value const& config, model_facts& facts) {
    auto const* const all = config.if_object();
    if (!all)
        return;
    if (auto const* const text_model = all->if_contains("text_config"))
        add_config(*text_model, facts);
    for (auto const& [name, value] : *all)
        if (auto const* const number = value.if_int64())
            facts.numbers.emplace_back(std::string(name), *number);
    if (auto const* const type = all->if_contains("model_type");
        type && type->is_string() && facts.type.empty())
        facts.type = type->get_string().c_str();
}

/// The axes that may have the rows of the tensors; several if that is not known.
std::vector<std::size_t> fused_axes(index_vector const& shape, fused_side side) {
    std::size_t ndim = shape.size();
    while (ndim > 2 && shape[ndim - 1] == 1) // a convolution of 1
        --ndim;
    if (ndim < 2)
        return std::vector<std::size_t>(ndim, 0);
    index_t const out = shape[ndim - 2], in = shape[ndim - 1];
    bool const is_matrix = ndim == 2;
    if (side == fused_side::out_in || (side == fused_side::longer && is_matrix && out > in))
        return {ndim - 2};
    if (side == fused_side::in_out || (is_matrix && in > out))
        return {ndim - 1};
    return {ndim - 2, ndim - 1};
}

} // namespace

fused_name const* find_fused_name(std::string_view key, std::string_view model) {
    for (fused_name const& one : fused_table::rows)
        if ((one.model.empty() || one.model == model) && matches_name(key, one.name))
            return &one;
    return nullptr;
}

std::optional<index_t> model_facts::number(std::string_view names) const {
    while (!names.empty()) {
        std::string_view const name = names.substr(0, names.find('|'));
        auto const found =
            std::ranges::find(numbers, name, &std::pair<std::string, index_t>::first);
        if (found != numbers.end())
            return found->second;
        names.remove_prefix(std::min(names.size(), name.size() + 1));
    }
    return std::nullopt;
}

model_facts facts_beside(std::string const& source) {
    std::error_code ignored;
    std::filesystem::path path = source;
    if (!std::filesystem::is_directory(path, ignored))
        path = path.parent_path();
    path /= "config.json";
    model_facts facts;
    boost::system::error_code unreadable; // then nothing is known
    if (std::filesystem::is_regular_file(path, ignored))
        add_config(boost::json::parse(reshard::detail::read_text_file(path), unreadable), facts);
    return facts;
}

std::optional<fused_cut> find_fused_cut(catalog_entry const& wanted,
                                        std::vector<std::size_t> const& axes,
                                        model_facts const& model) {
    fused_name const* const name = find_fused_name(wanted.key, model.type);
    if (!name || name->order == fused_order::plain)
        return std::nullopt;
    auto const candidates = fused_axes(wanted.shape, name->side);
    for (std::size_t const axis : candidates) {
        if (std::ranges::find(axes, axis) == axes.end())
            continue;
        if (name->order != fused_order::by_head)
            return fused_cut{axis, candidates.size() > 1 ? fused_order::unknown : name->order};
        // gate and up row by row are pairs, of which an even cut leaves each whole
        std::optional<index_t> const count =
            name->heads.empty() ? wanted.shape[axis] / 2 : model.number(name->heads);
        if (!count)
            return fused_cut{axis, fused_order::unknown};
        if (*count < 1 || !wanted.is_even(axis) || *count % wanted.parts[axis] != 0)
            return fused_cut{axis, fused_order::by_head};
    }
    return std::nullopt;
}

} // namespace tool
