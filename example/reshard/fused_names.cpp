// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "fused_names.hpp"

#include <reshard/expr/mapping.hpp>
#include <reshard/format/text_file.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

namespace tool {

using namespace reshard;

namespace {

/// Names of fused tensors. A row for one type of model precedes the row for all others.
///
/// \par Source transformers (models/NAME/modeling_NAME.py), vLLM (model_executor/models), PyTorch,
///             PaddleFormers, Megatron-Core, timm and llama.cpp, as each row says
struct fused_table {
    static constexpr auto first = fused_side::first, out_in = fused_side::out_in,
                          in_out = fused_side::in_out, longer = fused_side::longer,
                          either = fused_side::either;
    static constexpr auto parts = fused_order::parts, by_head = fused_order::by_head,
                          unknown = fused_order::unknown, plain = fused_order::plain,
                          of_heads = fused_order::heads;

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
        {"gate_up_proj", "", either, parts, "", "transformers, vLLM: gate, then up"},
        {"up_gate_proj", "", either, parts, "", "PaddleFormers: fused_ffn of gate and up"},
        {"gate_up_fused_proj", "", either, parts, "", "PaddleNLP: fuse_attention_ffn"},
        {"gateup", "", either, parts, "", "servers of models: gate, then up"},
        {"gate_and_up_proj", "", either, parts, "", "Hunyuan: two halves"},
        {"gate_and_up", "", either, parts, "", "Hunyuan: two halves"},
        {"input_linear", "", either, parts, "",
         "transformers granitemoe, jetmoe: chunk(2, dim=-1)"},
        {"mlp1_weight", "", out_in, by_head, "", "openai gpt_oss: [..., ::2] is the gate"},
        {"mlp1_bias", "", out_in, by_head, "", "openai gpt_oss: [..., ::2] is the gate"},
        {"ffn_gate_up", "", either, parts, "", "llama.cpp"},
        {"ffn_gate_up_exps", "", either, parts, "", "llama.cpp"},
        {"w13", "", either, parts, "", "vLLM fused_moe: w1 (gate), then w3 (up)"},
        {"w1w3", "", either, parts, "", "SwiGLU with one matrix: gate, then up"},
        {"w12", "", either, parts, "", "xFormers SwiGLU, DINOv2: chunk(2)"},
        {"weights_in", "", either, parts, "", "transformers dinov2 SwiGLU: chunk(2)"},
        {"Wi", "modernbert", either, parts, "", "transformers modernbert: input, then gate"},
        {"ff.net.0.proj", "", either, unknown, "", "diffusers: value, then gate, if it is GEGLU"},
        {"fc1", "moshi", either, parts, "", "transformers moshi: two halves"},
        {"fc1", "moonshine", either, unknown, "",
         "transformers moonshine: chunk(2) of the decoder"},
        {"pointwise_conv1", "", first, parts, "",
         "transformers wav2vec2_conformer: GLU, two halves"},
        {"ff_proj", "", either, unknown, "", "OLMo: up, then gate, if the activation is SwiGLU"},
        {"dense_h_to_4h", "gpt_neox", either, plain, "", "transformers gpt_neox"},
        {"dense_h_to_4h", "bloom", either, plain, "", "transformers bloom"},
        {"dense_h_to_4h", "falcon", either, plain, "", "transformers falcon"},
        {"dense_h_to_4h", "chatglm", either, unknown, "", "THUDM chatglm2 and 3: gate, then up"},
        {"dense_h_to_4h", "", either, unknown, "", "Megatron-LM: gate, then up, with SwiGLU"},
        {"linear_fc1", "", either, unknown, "", "Megatron-Core: gate, then up, with gated units"},
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
        {"kv_a_proj_with_mqa", "", either, parts, "",
         "transformers deepseek_v3: latent, then the key with positions"},
        {"fused_qkv", "", longer, unknown, "", "by the model"},
        {"q_proj", "", out_in, of_heads, heads, "transformers: view(..., heads, d)"},
        {"k_proj", "", out_in, of_heads, groups, "transformers: view(..., groups, d)"},
        {"v_proj", "", out_in, of_heads, groups, "transformers: view(..., groups, d)"},
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
        {"conv1d", "mamba", first, plain, "", "transformers mamba: x alone"},
        {"conv1d", "falcon_mamba", first, plain, "", "transformers falcon_mamba: x alone"},
        {"conv1d", "jamba", first, plain, "", "transformers jamba: x alone"},
        {"conv1d", "", first, unknown, "", "Mamba 2: x, B, C; qwen3_next: q, k, v; Mamba: x alone"},
        {"ssm_conv1d", "", first, unknown, "", "llama.cpp: as conv1d"},
        {"ssm_in", "", longer, parts, "", "llama.cpp: as in_proj"},
        {"x_proj", "", out_in, parts, "", "Mamba: dt, B, C"},
        {"in_proj", "deberta", out_in, by_head, heads,
         "transformers deberta: q, k, v of each head"},
        {"in_proj", "", longer, parts, "", "Mamba: x, z; Mamba 2: z, x, B, C, dt"},
        // gates of recurrent layers, shifts and scales
        {"weight_ih*", "", first, unknown, "", "PyTorch: four gates of LSTM, three of GRU"},
        {"weight_hh*", "", first, unknown, "", "PyTorch: four gates of LSTM, three of GRU"},
        {"bias_ih*", "", first, unknown, "", "PyTorch: four gates of LSTM, three of GRU"},
        {"bias_hh*", "", first, unknown, "", "PyTorch: four gates of LSTM, three of GRU"},
        {"adaLN_modulation", "", longer, parts, "", "DiT: chunk(6) of shifts, scales and gates"},
        // all other keys that contain these texts
        {"*qkv*", "", either, unknown, "", "by the model"},
        {"*kqv*", "", either, unknown, "", "by the model"},
        {"*gate_up*", "", either, parts, "", "gate, then up"},
        {"*up_gate*", "", either, parts, "", "PaddleFormers: fused_ffn of gate and up"},
        {"*linear_fc1*", "", either, unknown, "", "Megatron-Core"},
        {"*fused_*", "", either, unknown, "", "by the model"},
    };
};

/// Whether a part of a key is `name`, alone or with an ending for a weight, bias or scale. With a
/// `*` at its end, as in `weight_ih*`, `name` matches all longer names.
bool names_part(std::string_view part, std::string_view name) {
    constexpr std::string_view endings[] = {"",        "_weight", "_bias",  "_blocks",
                                            "_scales", "_scale",  "_zeros", "_weight_scale"};
    if (name.ends_with('*'))
        return part.starts_with(name.substr(0, name.size() - 1));
    if (!part.starts_with(name))
        return false;
    return std::ranges::find(endings, part.substr(name.size())) != std::end(endings);
}

/// Removes the text before the first dot or slash, and returns it.
std::string_view next_part(std::string_view& remainder) {
    std::size_t const end = std::min(remainder.find_first_of("./"), remainder.size());
    std::string_view const part = remainder.substr(0, end);
    remainder.remove_prefix(std::min(remainder.size(), end + 1));
    return part;
}

/// Whether a key begins with the parts of a name.
bool begins_with_parts(std::string_view key, std::string_view name) {
    bool is_equal = true;
    while (is_equal && !name.empty())
        is_equal = names_part(next_part(key), next_part(name));
    return is_equal;
}

bool matches_name(std::string_view key, std::string_view name) {
    if (name.starts_with('*'))
        return key.find(name.substr(1, name.size() - 2)) != key.npos;
    for (; !key.empty(); next_part(key))
        if (begins_with_parts(key, name))
            return true;
    return false;
}

void add_config(boost::json::value const& config, model_facts& facts) {
    auto const* const if_object = config.if_object();
    if (!if_object)
        return;
    if (auto const* const text_model = if_object->if_contains("text_config"))
        add_config(*text_model, facts);
    for (auto const& [name, value] : *if_object)
        if (auto const* const number = value.if_int64())
            facts.numbers.emplace_back(std::string(name), *number);
        else if (auto const* const part = value.if_object(); part && name != "text_config")
            for (auto const& [entry, inner] : *part)
                if (inner.is_int64())
                    facts.of_others.emplace_back(std::string(entry), inner.get_int64());
    if (auto const* const type = if_object->if_contains("model_type");
        type && type->is_string() && facts.type.empty())
        facts.type = type->get_string().c_str();
}

/// An axis that contains the rows of the members, or may contain them.
struct fused_axis {
    std::size_t axis;
    bool is_sure = true;
};

/// The axes that may contain the rows, in a matrix of a tensor's last two axes: not the axis of the
/// model's hidden size.
reshard::vector<fused_axis> axes_of_matrix(index_vector const& shape, std::size_t ndim,
                                           fused_side side, std::optional<index_t> hidden) {
    index_t const out = shape[ndim - 2], in = shape[ndim - 1];
    std::size_t const rows = ndim - 2, columns = ndim - 1;
    if (hidden && (out == *hidden) != (in == *hidden))
        return {{in == *hidden ? rows : columns}};
    if (ndim > 2 || out == in)
        return {{rows, false}, {columns, false}};
    std::size_t const longer = out > in ? rows : columns;
    std::size_t const other = rows + columns - longer;
    bool const is_much_longer = std::max(out, in) > 2 * std::min(out, in);
    if (side == fused_side::either)
        return {{longer, is_much_longer}, {other, false}};
    return is_much_longer ? reshard::vector<fused_axis>{{longer}}
                          : reshard::vector<fused_axis>{{longer}, {other, false}};
}

/// The axes that may contain the rows of the members.
///
/// \par Source AutoAWQ and AutoGPTQ store `qweight` and `qzeros` as [in, out], with packed values,
///             compressed-tensors stores `weight_packed` as [out, in]
reshard::vector<fused_axis> fused_axes(catalog_entry const& wanted, fused_side side,
                                       std::optional<index_t> hidden) {
    std::size_t ndim = wanted.shape.size();
    while (ndim > 2 && wanted.shape[ndim - 1] == 1) // a convolution with a kernel of one element
        --ndim;
    if (ndim == 0)
        return {};
    if (ndim == 1 || side == fused_side::first)
        return {{0}};
    if (wanted.key.ends_with(".qweight") || wanted.key.ends_with(".qzeros"))
        return {{ndim - 1}};
    if (side == fused_side::out_in || wanted.key.ends_with(".weight_packed"))
        return {{ndim - 2}};
    if (side == fused_side::in_out)
        return {{ndim - 1}};
    return axes_of_matrix(wanted.shape, ndim, side, hidden);
}

/// Whether a layout cuts an axis of `count` heads inside a head; false if the count is unknown.
bool cuts_heads(catalog_entry const& wanted, std::size_t axis, std::optional<index_t> count) {
    return count && *count > 0 && wanted.shape[axis] % *count == 0 &&
           (!wanted.is_even(axis) || *count % wanted.parts[axis] != 0);
}

} // namespace

fused_name const* find_fused_name(std::string_view key, std::string_view model) {
    for (fused_name const& name : fused_table::rows)
        if ((name.model.empty() || name.model == model) && matches_name(key, name.name))
            return &name;
    return nullptr;
}

std::optional<index_t> model_facts::number(std::string_view names) const {
    while (!names.empty()) {
        std::string_view const name = names.substr(0, names.find('|'));
        auto const match =
            std::ranges::find(numbers, name, &std::pair<std::string, index_t>::first);
        if (match != numbers.end())
            return match->second;
        names.remove_prefix(std::min(names.size(), name.size() + 1));
    }
    return std::nullopt;
}

bool model_facts::is_of_others(std::string_view names) const {
    return std::ranges::any_of(of_others, [&](auto const& entry) {
        return ('|' + std::string(names) + '|').find('|' + entry.first + '|') != names.npos;
    });
}

bool model_facts::has(std::string_view name, index_t number) const {
    std::pair const wanted{std::string(name), number};
    return std::ranges::count(numbers, wanted) > 0 || std::ranges::count(of_others, wanted) > 0;
}

model_facts facts_beside(std::string const& source) {
    std::error_code ignored;
    std::filesystem::path path = source;
    if (!std::filesystem::is_directory(path, ignored))
        path = path.parent_path();
    path /= "config.json";
    model_facts facts;
    boost::system::error_code unreadable; // an unreadable file gives no facts
    if (std::filesystem::is_regular_file(path, ignored))
        add_config(boost::json::parse(reshard::detail::read_text_file(path), unreadable), facts);
    return facts;
}

std::optional<fused_cut> find_fused_cut(catalog_entry const& wanted,
                                        reshard::vector<std::size_t> const& axes,
                                        model_facts const& model) {
    fused_name const* const name = find_fused_name(wanted.key, model.type);
    if (!name || name->order == fused_order::plain)
        return std::nullopt;
    auto const hidden = model.number("hidden_size|n_embd|d_model|dim");
    for (auto const [axis, is_sure] : fused_axes(wanted, name->side, hidden)) {
        if (std::ranges::find(axes, axis) == axes.end())
            continue;
        if (name->order == fused_order::heads)
            return !model.is_of_others(name->heads) &&
                           cuts_heads(wanted, axis, model.number(name->heads))
                       ? std::optional(fused_cut{axis, fused_order::heads})
                       : std::nullopt;
        if (name->order != fused_order::by_head)
            return fused_cut{axis, is_sure ? name->order : fused_order::unknown};
        // rows of gate and up alternate: they are pairs, and an even cut does not separate a pair
        std::optional<index_t> const count =
            name->heads.empty() ? wanted.shape[axis] / 2 : model.number(name->heads);
        if (!count)
            return fused_cut{axis, fused_order::unknown};
        if (*count < 1 || !wanted.is_even(axis) || *count % wanted.parts[axis] != 0)
            return fused_cut{axis, fused_order::by_head};
    }
    return std::nullopt;
}

namespace {

/// Whether a rank's shard may consist of rows of each member.
bool is_part_by_part(fused_order order) {
    return order != fused_order::by_head && order != fused_order::heads;
}

/// The sources of a mapping that are in parts, if by their names each part may have rows of several
/// members, and the layout does not say how they were fused. The value is the axis of the parts.
std::map<detail::key_id, std::size_t> named_parts(mapping const& program, layout const& layout,
                                                  std::string const& path) {
    catalog const source = catalog_of(layout);
    std::map<detail::key_id, std::size_t> matches;
    std::optional<model_facts> model;
    for (detail::key_id id = 0; id < program.sources().size(); ++id) {
        catalog_entry const* const from = source.find(program.sources().key(id));
        for (std::size_t axis = 0; from && axis < from->parts.size(); ++axis) {
            if (from->parts[axis] < 2 || layout.fused.contains(from->key))
                continue;
            if (!model)
                model = facts_beside(path);
            auto const cut = find_fused_cut(*from, {axis}, *model);
            if (cut && is_part_by_part(cut->order))
                matches.emplace(id, axis);
        }
    }
    return matches;
}

/// Whether the parts along the axis `along` stay joined in an output. False if a piece has all of
/// them, and the target cuts it there.
bool is_taken_whole(piece const& piece, std::size_t along, index_t extent,
                    catalog_entry const* wanted) {
    auto const axis = detail::same_axis(piece, along);
    bool const is_cut = axis && piece.source_box().shape[along] == extent && wanted &&
                        *axis < wanted->parts.size() && wanted->parts[*axis] > 1;
    return !is_cut;
}

/// The outputs for which macros took fused tensors apart, and their companions.
std::set<std::string_view> taken_by_macros(mapping const& program) {
    std::set<std::string_view> matches;
    for (auto const& [key, fused_source] : program.apart())
        matches.insert(key);
    for (detail::relation const& relation : program.relations())
        if (program.apart().contains(relation.key))
            matches.insert(relation.companion);
    return matches;
}

} // namespace

std::string text_of_parts(mapping const& program, layout const& layout, catalog const* target,
                          job_files const& files) {
    auto const named = named_parts(program, layout, files.source);
    auto const taken = named.empty() ? std::set<std::string_view>() : taken_by_macros(program);
    std::set<std::string> keys;
    for (auto output = program.outputs().begin();
         !named.empty() && output != program.outputs().end(); ++output) {
        if (program.fused().contains(output->key) || taken.contains(output->key))
            continue;
        auto const& pieces = output->value.pieces;
        catalog_entry const* const wanted = target ? target->find(output->key) : nullptr;
        std::map<detail::key_id, std::size_t> counts; // several: the program knows the order
        for (std::size_t i = 0; i < pieces.size(); ++i)
            ++counts[pieces.source(i)];
        for (std::size_t i = 0; i < pieces.size(); ++i)
            if (auto const from = named.find(pieces.source(i));
                from != named.end() && counts[from->first] == 1) {
                detail::mapping_source const tensor = program.sources()[from->first];
                if (is_taken_whole(pieces[i], from->second, tensor.shape[from->second], wanted))
                    keys.emplace(tensor.key);
            }
    }
    if (keys.empty())
        return {};
    std::string const& rules = files.reading.source_layout;
    return "by its name, '" + *keys.begin() + "'" + detail::and_more_keys(keys.size()) +
           " may fuse several tensors, such as gate and up. The source has it in parts, which "
           "are joined unchanged; if each part has rows of every tensor, " +
           (rules.empty() ? "take it apart with reshard convert and a program that uses "
                            "fused_ffn, fused_qkv_old or fused"
                          : "say so in its rule in " + rules + ", as \"fused\": [1, 1]");
}

} // namespace tool
