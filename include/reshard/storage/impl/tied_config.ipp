// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_TIED_CONFIG_IPP
#define RESHARD_STORAGE_IMPL_TIED_CONFIG_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/convert.hpp>

#include <reshard/expr/expression.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/written_formats.hpp>
#include <reshard/storage/aliases.hpp>
#include <reshard/storage/impl/quantisation_config.ipp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ranges>
#include <system_error>
#include <tuple>
#include <utility>

namespace reshard::detail {

inline bool writes_huggingface(convert_options const& options) {
    return !options.wanted && !options.writing.single_file &&
           (options.writing.format.empty() || options.writing.format == "huggingface");
}

inline bool writes_one_file(write_options const& options) {
    return options.single_file ||
           (!options.format.empty() && written_format_of(options.format).is_file());
}

/// The text of the `config.json` that is copied; std::nullopt if none is copied.
inline std::optional<std::string> carried_config(checkpoint const& source,
                                                 convert_options const& options) {
    std::filesystem::path const path = source.metadata().path / hf_config_name;
    std::error_code ignored;
    if (!options.carry || writes_one_file(options.writing) ||
        !std::filesystem::is_regular_file(path, ignored))
        return std::nullopt;
    return read_text_file(path);
}

/// Of the names for which `is_one` is true, the name with the fewest dots; empty if there is none.
inline std::string outermost(vector<std::string> const& names, bool (*is_one)(std::string_view)) {
    std::string match;
    auto const parts = [](std::string const& name) { return std::ranges::count(name, '.'); };
    for (std::string const& name : names)
        if (is_one(name) && (match.empty() || parts(name) < parts(match)))
            match = name;
    return match;
}

/// True if a name is one of the word embeddings that a model shares between its encoder and
/// decoder.
inline bool is_shared_embedding(std::string const& name, std::string const& embedding) {
    auto const model_of = [](std::string_view key) {
        std::size_t const tensor = key.substr(0, key.rfind('.')).rfind('.');
        return key.substr(0, tensor + 1); // empty if it is npos
    };
    std::string const model(model_of(embedding));
    return is_word_embedding(name) &&
           (model_of(name) == model + "encoder." || model_of(name) == model + "decoder.");
}

/// The aliases that `tie_word_embeddings` ties: the output layer of a model, and word embeddings
/// that share the tensor.
inline alias_map tied_by_flag(alias_map const& aliases) {
    std::map<std::string, vector<std::string>> names_of;
    for (auto const& [alias, key] : aliases)
        names_of.try_emplace(key, vector{key}).first->second.push_back(alias);
    alias_map tied;
    for (auto const& [key, names] : names_of) {
        std::string const layer = outermost(names, is_output_layer);
        std::string const embedding = outermost(names, is_word_embedding);
        if (layer.empty() || embedding.empty())
            continue;
        for (std::string const& name : names)
            if (name == layer || is_shared_embedding(name, embedding))
                tied.emplace(name, embedding);
    }
    return tied;
}

/// True if an output layer is one of the names of a tensor.
inline bool names_output_layer(alias_map const& aliases, std::string const& key) {
    return is_output_layer(key) || std::ranges::any_of(aliases, [&](auto const& element) {
               return element.second == key && is_output_layer(element.first);
           });
}

/// The key of an output layer that is a separate tensor beside word embeddings; empty if there is
/// none.
inline std::string separate_output_layer(mapping const& program, alias_map const& aliases) {
    if (std::ranges::none_of(program.outputs(), [](mapping_output const& output) {
            return is_word_embedding(output.key);
        }))
        return {};
    for (mapping_output const& output : program.outputs())
        if (is_output_layer(output.key) && !aliases.contains(output.key) &&
            !std::ranges::count(aliases | std::views::values, output.key))
            return output.key;
    return {};
}

/// The key of an output layer that is an alias or has an alias. Or the key of an output layer that
/// is not written, if its copy is written, or word embeddings made of it. Empty if there is none.
inline std::string tied_output_layer(mapping const& program, alias_map const& aliases) {
    for (auto const& [alias, key] : aliases)
        for (std::string const& name : {alias, key})
            if (is_output_layer(name))
                return name;
    auto const is_lost = [&](std::string const& name, std::string const& copy) {
        return is_output_layer(name) && !program.find(name) && program.find(copy);
    };
    for (relation const& relation : program.relations())
        if (relation.type == relation::kind::copy)
            for (auto const& [name, copy] : {std::tie(relation.companion, relation.key),
                                             std::tie(relation.key, relation.companion)})
                if (is_lost(name, copy))
                    return name;
    for (mapping_output const& output : program.outputs())
        if (is_word_embedding(output.key) && !output.added && is_source_box(output.value))
            if (std::string const from(program.sources().key(output.value.pieces.source(0)));
                is_lost(from, output.key))
                return from;
    return {};
}

/// Corrects all flags of a `config.json` for an output layer.
inline void correct_config(tied_names& names, std::string text, vector<tie_flag> const& flags,
                           std::pair<std::string, bool> const& layer) {
    auto const& [key, is_tied] = layer;
    bool is_right = true;
    for (tie_flag const& flag : flags | std::views::reverse)
        if (flag.is_tied != is_tied) {
            std::string const now = is_tied ? "true" : "false";
            text.replace(flag.position, now.size() == 4 ? 5 : 4, now);
            is_right = false;
        }
    if (is_right)
        return;
    names.config = std::move(text);
    names.notes.push_back(words(hf_config_name, ": tie_word_embeddings is set to ",
                                is_tied ? "true" : "false", ", because '", key,
                                is_tied ? "' has no tensor" : "' is a separate tensor"));
}

/// Notes a copy of an output layer that is written as a tensor, since the `config.json` lacks the
/// flag.
inline void note_open_copies(tied_names& names, checkpoint const& source, mapping const& program,
                             convert_options const& options) {
    for (auto const& [alias, key] : aliases_kept(source, program, {options.wanted, true}))
        if (!names.aliases.contains(alias) && (is_output_layer(alias) || is_output_layer(key))) {
            names.notes.push_back(
                words(hf_config_name, " does not have tie_word_embeddings, and is not changed: '",
                      key, "' and '", alias, "' are equal, and both are written"));
            return;
        }
}

/// The index after a JSON string, whose opening quote is at `i`.
inline std::size_t end_of_string(std::string_view json, std::size_t i) {
    for (++i; i < json.size() && json[i] != '"'; ++i)
        i += json[i] == '\\';
    return i + 1;
}

/// The text of a JSON object without the members of that name, in it and in objects within it;
/// std::nullopt if there are none.
///
/// \pre `json` is valid
inline std::optional<std::string> without_members(std::string json, std::string_view name) {
    constexpr auto blanks = " \t\r\n";
    std::string const key = '"' + std::string(name) + '"';
    bool has_one = false;
    vector<std::size_t> before; ///< for each open object or array: its begin, or the last comma
    for (std::size_t i = 0, member = 0; i < json.size(); ++i) { // `member`: depth of the member
        bool const is_end = json[i] == '}' || json[i] == ']';
        if (member == before.size() && member > 0 && (json[i] == ',' || is_end)) {
            std::size_t const end = is_end ? json.find_last_not_of(blanks, i - 1) + 1 : i + 1;
            std::size_t const begin = before.back() + (json[before.back()] != ',' || !is_end);
            json.erase(begin, end - begin);
            i = begin - 1; // continues after the erased text
            member = 0;
            has_one = true;
            continue;
        }
        if (json[i] == '"') {
            std::size_t const end = end_of_string(json, i);
            if (member == 0 && json.compare(i, end - i, key) == 0 &&
                json[json.find_first_not_of(blanks, end)] == ':')
                member = before.size();
            i = end - 1;
        } else if (json[i] == '{' || json[i] == '[') {
            before.push_back(i);
        } else if (is_end) {
            before.pop_back();
        } else if (json[i] == ',') {
            before.back() = i;
        }
    }
    return has_one ? std::optional(std::move(json)) : std::nullopt;
}

/// The key of an output that still has quantised values; empty if there is none.
inline std::string quantised_output(checkpoint const& source, mapping const& program) {
    catalog const stored = catalog_of(source);
    for (mapping_output const& output : program.outputs()) {
        piece_list const& pieces = output.value.pieces;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            key_id const id = pieces.source(i);
            if (id == zero_source || pieces.dequantizes(i))
                continue;
            catalog_entry const* const entry = stored.find(std::string(program.sources().key(id)));
            if (entry && may_be_quantised(entry->dtype) && has_scales(*entry, stored))
                return output.key;
        }
    }
    return {};
}

/// A file that describes quantised values, too.
inline constexpr std::string_view quant_config_name = "hf_quant_config.json";

inline bool has_quant_config(checkpoint const& source) {
    std::error_code ignored;
    return std::filesystem::exists(source.metadata().path / quant_config_name, ignored);
}

/// Describes the quantisation that a program makes, in the `config.json`.
inline void describe_quantisation(tied_names& names, checkpoint const& source,
                                  mapping const& program, convert_options const& options) {
    auto text = names.config ? names.config : carried_config(source, options);
    if (!text || text->find('}') == text->npos)
        return;
    constexpr std::string_view member = "quantization_config";
    quantised_modules modules = find_quantised_modules(program);
    if (modules.scheme.empty())
        return;
    if (std::string const key = quantised_output(source, program);
        modules.problem.empty() && !key.empty())
        modules.problem = words("'", key, "' is still quantised as in the source");
    if (!modules.problem.empty()) {
        names.notes.push_back(words(hf_config_name, " does not describe the quantisation: ",
                                    modules.problem, "; correct it by hand"));
        return;
    }
    bool is_replaced = false;
    for (std::string_view const name : {member, std::string_view("compression_config")})
        if (auto without = without_members(*text, name)) {
            text = std::move(without);
            is_replaced = true;
        }
    names.config = with_member(*std::move(text), member, quantisation_config(modules));
    names.notes.push_back(words(
        hf_config_name, ": ", member, is_replaced ? " is replaced: it describes " : " describes ",
        counted(modules.quantised.size(), "module"), " of scheme '", modules.scheme, "'"));
    if (has_quant_config(source)) {
        names.outdated.emplace_back(quant_config_name);
        names.notes.push_back(words(quant_config_name, " is not copied, because it describes the "
                                                       "source"));
    }
}

/// Removes the description of quantised values from the `config.json` of a model that is
/// dequantized.
inline void describe_values(tied_names& names, checkpoint const& source, mapping const& program,
                            convert_options const& options) {
    bool const are_values = !source.metadata().quantised.decoded.empty() || dequantizes(program);
    if (!are_values || !options.carry)
        return;
    std::string const quantised = quantised_output(source, program);
    auto const note = [&](std::string_view subject, std::string_view gone) {
        names.notes.push_back(quantised.empty()
                                  ? words(subject, gone, ", because the model is dequantized")
                                  : words(subject, " is kept, because '", quantised,
                                          "' is still quantised; correct it by hand"));
        return quantised.empty();
    };
    std::optional<std::string> text = names.config ? names.config : carried_config(source, options);
    for (std::string_view const name : {"quantization_config", "compression_config"})
        if (auto changed = text ? without_members(*text, name) : std::nullopt;
            changed && note(words(hf_config_name, ": ", name), " is removed"))
            names.config = text = std::move(changed);
    if (has_quant_config(source) && note(quant_config_name, " is not copied"))
        names.outdated.emplace_back(quant_config_name);
}

/// The names of tensors in files, and the `config.json` that says which layers are tied.
inline tied_names tie_layers(checkpoint const& source, mapping const& program,
                             convert_options const& options) {
    tied_names names{aliases_kept(source, program, {options.wanted, options.share_copies})};
    if (!writes_huggingface(options))
        return names;
    std::optional<std::string> const config = carried_config(source, options);
    auto const flags = config ? tie_flags_in(*config) : vector<tie_flag>();
    alias_map stored = std::exchange(
        names.aliases, aliases_kept(source, program,
                                    {options.wanted, options.share_copies, options.share_copies}));
    erase_if(stored, [&](auto const& element) { return names.aliases.contains(element.first); });
    if (!flags.empty())
        names.aliases.merge(tied_by_flag(stored));
    alias_map const named = names.aliases;
    for (auto& [alias, key] : names.aliases)
        if (auto const match = named.find(key); match != named.end())
            key = match->second;
    alias_map const map = names.aliases;
    std::string const own = separate_output_layer(program, names.aliases);
    if (config && !own.empty()) // no value of the flag is right for both
        erase_if(names.aliases,
                 [&](auto const& element) { return names_output_layer(map, element.second); });
    std::string const tied = tied_output_layer(program, names.aliases);
    if (config && flags.empty())
        note_open_copies(names, source, program, options);
    else if (config && (!own.empty() || !tied.empty()))
        correct_config(names, *config, flags,
                       own.empty() ? std::pair(tied, true) : std::pair(own, false));
    return names;
}

RESHARD_DECL tied_names tie_names(checkpoint const& source, mapping const& program,
                                  convert_options const& options) {
    tied_names names = tie_layers(source, program, options);
    if (!program.quantised().empty())
        describe_quantisation(names, source, program, options);
    else
        describe_values(names, source, program, options);
    return names;
}

} // namespace reshard::detail

#endif
