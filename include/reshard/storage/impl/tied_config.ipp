// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_TIED_CONFIG_IPP
#define RESHARD_STORAGE_IMPL_TIED_CONFIG_IPP

#include <reshard/storage/convert.hpp>

#include <reshard/expr/expression.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/storage/aliases.hpp>

#include <algorithm>
#include <ranges>
#include <system_error>
#include <tuple>

namespace reshard::detail {

/// The text of the `config.json` that goes with a Hugging Face directory; nothing for other targets
/// and without one.
inline std::optional<std::string> carried_config(checkpoint const& source,
                                                 convert_options const& how) {
    bool const is_huggingface = !how.wanted && !how.writing.single_file &&
                                (how.writing.format.empty() || how.writing.format == "huggingface");
    std::filesystem::path const path = source.metadata().path / hf_config_name;
    std::error_code ignored;
    if (!is_huggingface || !how.carry || !std::filesystem::is_regular_file(path, ignored))
        return std::nullopt;
    return read_text_file(path);
}

/// Whether an output layer is one of the names of a tensor.
inline bool names_output_layer(alias_map const& aliases, std::string const& key) {
    return is_output_layer(key) || std::ranges::any_of(aliases, [&](auto const& one) {
               return one.second == key && is_output_layer(one.first);
           });
}

/// An output layer that is a separate tensor beside word embeddings; empty: there is none.
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

/// An output layer that is another name of a tensor, or has another name, or of which only a copy
/// or the word embeddings made of it are written; empty: there is none.
inline std::string tied_output_layer(mapping const& program, alias_map const& aliases) {
    for (auto const& [alias, key] : aliases)
        for (std::string const& name : {alias, key})
            if (is_output_layer(name))
                return name;
    auto const is_lost = [&](std::string const& name, std::string const& copy) {
        return is_output_layer(name) && !program.find(name) && program.find(copy);
    };
    for (relation const& one : program.relations())
        if (one.what == relation::kind::copy)
            for (auto const& [name, copy] :
                 {std::tie(one.companion, one.key), std::tie(one.key, one.companion)})
                if (is_lost(name, copy))
                    return name;
    for (mapping_output const& output : program.outputs())
        if (is_word_embedding(output.key) && !output.added && is_source_box(output.value))
            if (std::string const from(program.sources().key(output.value.pieces.source(0)));
                is_lost(from, output.key))
                return from;
    return {};
}

/// Makes all flags of a `config.json` true for an output layer.
inline void correct_config(tied_names& names, std::string text, std::vector<tie_flag> const& flags,
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
    names.notes.push_back(words(hf_config_name, ": set tie_word_embeddings to ",
                                is_tied ? "true" : "false", ", because '", key,
                                is_tied ? "' has no tensor" : "' is a separate tensor"));
}

/// Says which copies of an output layer a `config.json` without the flag leaves open.
inline void note_open_copies(tied_names& names, checkpoint const& source, mapping const& program,
                             convert_options const& how) {
    for (auto const& [alias, key] : aliases_kept(source, program, {how.wanted, true}))
        if (!names.aliases.contains(alias) && (is_output_layer(alias) || is_output_layer(key))) {
            names.notes.push_back(
                words(hf_config_name, " does not have tie_word_embeddings, and is not changed: '",
                      key, "' and '", alias, "', which are equal, are both written"));
            return;
        }
}

RESHARD_DECL tied_names tie_names(checkpoint const& source, mapping const& program,
                                  convert_options const& how) {
    tied_names names{aliases_kept(source, program, {how.wanted, how.share_copies})};
    std::optional<std::string> const config = carried_config(source, how);
    if (!config)
        return names;
    auto const flags = tie_flags_in(*config);
    alias_map const all = names.aliases;
    alias_map const asked = aliases_kept(source, program, {how.wanted, how.share_copies, false});
    std::erase_if(names.aliases, [&](auto const& one) {
        return !asked.contains(one.first) &&
               (flags.empty() || !names_output_layer(all, one.second));
    });
    std::string const own = separate_output_layer(program, names.aliases);
    if (!own.empty()) // no flag is right for both kinds
        std::erase_if(names.aliases,
                      [&](auto const& one) { return names_output_layer(all, one.second); });
    std::string const tied = tied_output_layer(program, names.aliases);
    if (flags.empty())
        note_open_copies(names, source, program, how);
    else if (!own.empty() || !tied.empty())
        correct_config(names, *config, flags,
                       own.empty() ? std::pair(tied, true) : std::pair(own, false));
    return names;
}

} // namespace reshard::detail

#endif
