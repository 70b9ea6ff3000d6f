// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_QUANTISATION_CONFIG_IPP
#define RESHARD_STORAGE_IMPL_QUANTISATION_CONFIG_IPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>

#include <reshard/copy/quantiser.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/storage/aliases.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

/// \file
/// The member `quantization_config` of a `config.json`, for a program that quantises.
///
/// \par Source transformers 5.24 (`FineGrainedFP8Config`, `BitsAndBytesConfig`), and the presets of
///             compressed-tensors 0.20 for weights alone. int8 has the preset with activations,
///             the only preset with a scale for each row of int8

namespace reshard::detail {

/// The description of one scheme.
struct scheme_config {
    std::string_view scheme;
    std::string_view format;  ///< of compressed-tensors; empty for other libraries
    std::string_view weights; ///< of compressed-tensors; for other libraries, all members but one
    std::string_view ignored; ///< the name of the list of unquantised modules
    std::string_view inputs = "null";
};

inline constexpr std::array scheme_configs{
    scheme_config{"fp8_block", "",
                  R"("quant_method": "fp8",
    "activation_scheme": "dynamic",
    "weight_block_size": [128, 128])",
                  "modules_to_not_convert"},
    scheme_config{"nf4", "",
                  R"("quant_method": "bitsandbytes",
    "load_in_4bit": true,
    "load_in_8bit": false,
    "bnb_4bit_quant_type": "nf4",
    "bnb_4bit_quant_storage": "uint8",
    "bnb_4bit_use_double_quant": false)",
                  "llm_int8_skip_modules"},
    scheme_config{"fp8_channel", "float-quantized",
                  R"("num_bits": 8, "type": "float", "strategy": "channel")", "ignore"},
    scheme_config{"fp8_tensor", "float-quantized",
                  R"("num_bits": 8, "type": "float", "strategy": "tensor")", "ignore"},
    scheme_config{"int8_channel", "int-quantized",
                  R"("num_bits": 8, "type": "int", "strategy": "channel")", "ignore",
                  R"({"num_bits": 8, "type": "int", "strategy": "token", "symmetric": true, )"
                  R"("dynamic": true})"},
    scheme_config{"int4_group", "pack-quantized",
                  R"("num_bits": 4, "type": "int", "strategy": "group", "group_size": 128)",
                  "ignore"},
    scheme_config{"mxfp8", "mxfp8-quantized",
                  R"("num_bits": 8, "type": "float", "strategy": "group", "group_size": 32, )"
                  R"("scale_dtype": "torch.uint8", "zp_dtype": "torch.uint8")",
                  "ignore"},
    scheme_config{"mxfp4", "mxfp4-pack-quantized",
                  R"("num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, )"
                  R"("scale_dtype": "torch.uint8", "zp_dtype": "torch.uint8")",
                  "ignore"},
    scheme_config{"nvfp4", "nvfp4-pack-quantized",
                  R"("num_bits": 4, "type": "float", "strategy": "tensor_group", )"
                  R"("group_size": 16, "scale_dtype": "torch.float8_e4m3fn", )"
                  R"("zp_dtype": "torch.float8_e4m3fn")",
                  "ignore"}};

/// The modules of a quantised model.
struct quantised_modules {
    std::string scheme;
    std::set<std::string, std::less<>> quantised, others; ///< with a matrix as their weight
    std::string problem; ///< why no configuration describes them; empty if one does
};

inline constexpr std::string_view weight_ending = ".weight";

/// Why no configuration describes part `part` of a value under the key of an output; empty if one
/// does.
inline std::string problem_of_part(mapping_output const& output, quantised_value const& value,
                                   std::size_t part, std::string& module) {
    std::string const ending(endings_of(value.scheme)[part].text);
    std::string const expected = words(weight_ending, ending);
    if (!is_source_box(output.value) || !output.value.pieces.is_whole())
        return words("'", output.key, "' is not a whole tensor of one quantised value");
    if (!output.key.ends_with(expected))
        return words("the key '", output.key, "' does not end in '", expected, "'");
    module = output.key.substr(0, output.key.size() - expected.size());
    if (value.value.ndim() != 2)
        return words("'", output.key, "' is made of a value of shape ", value.value.shape,
                     ", and only matrices are weights of linear layers");
    if (is_word_embedding(words(module, weight_ending)))
        return words("'", output.key, "' is of an embedding, and only linear layers are described");
    return {};
}

/// The scheme and the modules that a program writes.
inline quantised_modules find_quantised_modules(mapping const& program) {
    quantised_modules modules;
    std::map<std::string, std::set<std::size_t>> parts; // of each quantised module
    std::size_t count = 0;
    for (mapping_output const& output : program.outputs()) {
        piece_list const& pieces = output.value.pieces;
        quantised_value const* value = nullptr;
        std::size_t part = 0;
        for (std::size_t i = 0; i < pieces.size() && !value; ++i)
            if ((value = quantised_from(program, pieces.source(i))))
                part = pieces.source(i) - value->first;
        std::string module;
        if (!value) {
            if (output.key.ends_with(weight_ending) && output.value.ndim() == 2)
                modules.others.insert(
                    output.key.substr(0, output.key.size() - weight_ending.size()));
            continue;
        }
        if (modules.scheme.empty())
            modules.scheme = value->scheme;
        count = value->count;
        std::string problem;
        if (value->scheme != modules.scheme)
            problem = words("the program has several schemes, '", modules.scheme, "' and '",
                            value->scheme, "'");
        else
            problem = problem_of_part(output, *value, part, module);
        if (modules.problem.empty())
            modules.problem = std::move(problem);
        parts[module].insert(part);
        modules.quantised.insert(module);
    }
    for (auto const& [module, numbers] : parts)
        if (modules.problem.empty() && numbers.size() != count)
            modules.problem = words("not all tensors of '", module, weight_ending, "' are written");
    if (modules.problem.empty() && !modules.scheme.empty() &&
        std::ranges::find(scheme_configs, modules.scheme, &scheme_config::scheme) ==
            scheme_configs.end())
        modules.problem = words("Hugging Face has no '", modules.scheme, "'");
    return modules;
}

/// A module in a list of unquantised modules. The experts of a layer are one entry if none of them
/// is quantised; for compressed-tensors, it is a regular expression.
inline std::string listed_module(std::string const& module, quantised_modules const& modules,
                                 bool is_compressed) {
    constexpr std::string_view experts = ".experts.";
    std::size_t const at = module.find(experts);
    if (at == module.npos)
        return module;
    std::string const prefix = module.substr(0, at + experts.size());
    auto const first = modules.quantised.lower_bound(prefix);
    if (first != modules.quantised.end() && first->starts_with(prefix))
        return module;
    return is_compressed ? words("re:", prefix, '*') : prefix.substr(0, prefix.size() - 1);
}

/// The value of `quantization_config`, indented for a member of the outermost object.
///
/// \pre `modules` have no problem
inline std::string quantisation_config(quantised_modules const& modules) {
    scheme_config const& config =
        *std::ranges::find(scheme_configs, modules.scheme, &scheme_config::scheme);
    bool const is_compressed = !config.format.empty();
    std::set<std::string> ignored;
    for (std::string const& module : modules.others)
        ignored.insert(listed_module(module, modules, is_compressed));
    auto const is_head = [](std::string const& module) {
        return is_output_layer(words(module, weight_ending));
    };
    bool const has_head = std::ranges::any_of(modules.others, is_head) ||
                          std::ranges::any_of(modules.quantised, is_head);
    if (!has_head) // tied to the embedding, which is not quantised
        ignored.insert("lm_head");
    std::string list;
    for (std::string const& module : ignored)
        list += (list.empty() ? "" : ", ") + json_quoted(module);
    if (!is_compressed)
        return words("{\n    ", config.weights, ",\n    \"", config.ignored, "\": [", list,
                     "]\n  }");
    return words("{\n    \"quant_method\": \"compressed-tensors\",\n    \"format\": \"",
                 config.format,
                 "\",\n    \"quantization_status\": \"compressed\",\n    \"config_groups\": "
                 "{\n      \"group_0\": {\n        \"targets\": [\"Linear\"],\n"
                 "        \"weights\": {",
                 config.weights, R"(, "symmetric": true, "dynamic": false},)",
                 "\n        \"input_activations\": ", config.inputs,
                 ",\n        \"output_activations\": null,\n        \"format\": \"", config.format,
                 "\"\n      }\n    },\n    \"", config.ignored, "\": [", list, "]\n  }");
}

/// The text of a JSON object with one more member.
///
/// \pre `json` is a valid object
inline std::string with_member(std::string json, std::string_view name, std::string_view value) {
    std::size_t const end = json.rfind('}');
    std::size_t const last = json.find_last_not_of(" \t\r\n", end - 1);
    json.erase(last + 1, end - last - 1);
    return json.insert(last + 1,
                       words(json[last] == '{' ? "" : ",", "\n  \"", name, "\": ", value, '\n'));
}

} // namespace reshard::detail

#endif
