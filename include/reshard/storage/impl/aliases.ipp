// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_ALIASES_IPP
#define RESHARD_STORAGE_IMPL_ALIASES_IPP

#include <reshard/storage/aliases.hpp>

#include <reshard/core/key_index.hpp>
#include <reshard/format/other_names.hpp>
#include <reshard/storage/impl/compare.ipp>
#include <reshard/storage/stored_tensor.hpp>
#include <reshard/storage/target_files.hpp>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void check_aliases(alias_map const& aliases, layout const& layout) {
    for (auto const& [alias, key] : aliases) {
        if (aliases.contains(key) || is_metadata_name(alias) || alias.empty())
            fail(errc::bad_layout, "'", alias, "' cannot be another name of '", key, "': ",
                 aliases.contains(key) ? "the key is an alias itself"
                                       : "this name is empty, or reserved by the metadata of files",
                 "; change this entry of save_options.aliases");
        tensor_layout const* const tensor = layout.find(key);
        if (!tensor)
            fail(errc::unknown_key, "'", alias, "' is declared as another name of '", key,
                 "', which no rank has",
                 did_you_mean_key(key, layout.tensors, &tensor_layout::key));
        tensor_layout const* const tensor_layout = layout.find(alias);
        if (tensor_layout && layout.shape_of(*tensor_layout) != layout.shape_of(*tensor))
            fail(errc::shape_mismatch, "'", alias, "' is declared as another name of '", key,
                 "', but has the shape ", layout.shape_of(*tensor_layout), ", not ",
                 layout.shape_of(*tensor));
        if (tensor_layout && tensor_layout->dtype != tensor->dtype)
            fail(errc::dtype_mismatch, "'", alias, "' is declared as another name of '", key,
                 "', but is ", code(tensor_layout->dtype), ", not ", code(tensor->dtype));
    }
}

/// \pre the checkpoint has the key
inline stored_tensor stored_of(checkpoint const& source, std::string const& key) {
    auto const& tensors = source.files_layout().tensors;
    stored_tensor tensor(source,
                         static_cast<std::size_t>(find_tensor(tensors, key) - tensors.begin()));
    tensor.check_cover();
    return tensor;
}

RESHARD_DECL void check_copies(checkpoint const& source, mapping const& program, int rank,
                               int size) {
    int number = 0;
    for (relation const& relation : program.relations()) {
        if (!relation.is_compared() || number++ % size != rank)
            continue;
        auto const differing =
            difference_of(stored_of(source, relation.companion), stored_of(source, relation.key));
        if (differing)
            fail(errc::overlap,
                 copies_differ(relation, *differing->index, differing->a, differing->b));
    }
}

inline std::string const& key_of(alias_map const& aliases, std::string const& name) {
    auto const match = aliases.find(name);
    return match == aliases.end() ? name : match->second;
}

RESHARD_DECL state_dict without_twins(state_dict const& tensors, alias_map const& aliases) {
    if (aliases.empty())
        return tensors;
    state_dict apart;
    std::map<std::string, vector<local_shard>> of_key;
    for (local_shard const& shard : tensors) {
        std::string const& key = key_of(aliases, shard.descriptor.key);
        auto& match = of_key[key];
        local_shard const by_key{renamed(shard.descriptor, key), shard.tensor};
        bool const is_twin = std::ranges::any_of(match, [&](local_shard const& other_shard) {
            return renamed(other_shard.descriptor, key) == by_key.descriptor &&
                   other_shard.tensor == by_key.tensor &&
                   other_shard.descriptor.key != shard.descriptor.key;
        });
        match.push_back(shard);
        if (!is_twin)
            apart.add(shard.descriptor, shard.tensor);
    }
    return apart;
}

RESHARD_DECL catalog offered_to(checkpoint const& source, layout const& wanted) {
    catalog const full_catalog = catalog_of(source);
    alias_map const& aliases = source.metadata().aliases;
    if (aliases.empty())
        return full_catalog;
    std::set<std::string> replaced; // keys with a wanted alias
    for (auto const& [alias, key] : aliases)
        if (wanted.find(alias))
            replaced.insert(key);
    vector<catalog_entry> entries;
    for (catalog_entry const& entry : full_catalog)
        if (wanted.find(entry.key) ||
            (!aliases.contains(entry.key) && !replaced.contains(entry.key)))
            entries.push_back(entry);
    return catalog(std::move(entries));
}

/// True if two outputs of a program have the same elements: the same pieces of the same stored
/// tensors. A source may have another alias in each output.
inline bool is_one_tensor(expression const& current_expression, expression const& expression,
                          mapping const& program, alias_map const& aliases) {
    auto const stored_key = [&](piece const& part) -> std::string {
        if (part.source == zero_source)
            return {};
        return key_of(aliases, std::string(program.sources().key(part.source)));
    };
    if (current_expression.shape != expression.shape ||
        current_expression.dtype != expression.dtype ||
        current_expression.pieces.size() != expression.pieces.size())
        return false;
    for (std::size_t i = 0; i < current_expression.pieces.size(); ++i) {
        piece first = current_expression.pieces[i];
        piece const second = expression.pieces[i];
        if (stored_key(first) != stored_key(second))
            return false;
        first.source = second.source;
        if (first != second)
            return false;
    }
    return true;
}

/// True if a key ends with one of `names`. False if the key has a digit, since it then belongs to a
/// numbered layer.
inline bool ends_with_name(std::string_view key, std::span<std::string_view const> names) {
    if (std::ranges::any_of(key, [](char c) { return '0' <= c && c <= '9'; }))
        return false;
    return std::ranges::any_of(names, [&](std::string_view name) {
        return key.ends_with(name) &&
               (key.size() == name.size() || key[key.size() - name.size() - 1] == '.');
    });
}

RESHARD_DECL bool is_output_layer(std::string_view key) {
    constexpr std::string_view names[] = {
        "lm_head.weight",   "lm_head.decoder.weight",     "lm_head.out_proj.weight",
        "embed_out.weight", "predictions.decoder.weight", "generator_lm_head.weight",
        "proj_out.weight",  "output_projection.weight",   "pred_layer.proj.weight",
        "lm_loss.weight",   "vocab_projector.weight"};
    return ends_with_name(key, names);
}

RESHARD_DECL bool is_word_embedding(std::string_view key) {
    constexpr std::string_view names[] = {"embed_tokens.weight",    "wte.weight",
                                          "word_embeddings.weight", "embed_in.weight",
                                          "tok_embeddings.weight",  "tokens_embed.weight",
                                          "embeddings.weight",      "embedding.weight",
                                          "shared.weight"};
    return ends_with_name(key, names);
}

/// The names that may become aliases, with their keys.
inline alias_map alias_candidates(checkpoint const& source, mapping const& program,
                                  alias_rules const& rules) {
    alias_map candidates, embeddings;
    for (relation const& relation : program.relations())
        if (relation.type == relation::kind::tie)
            candidates.emplace(relation.companion, relation.key);
    for (relation const& relation : program.relations())
        if (relation.type == relation::kind::alias && rules.share_copies &&
            (!rules.wanted || rules.wanted->find(relation.companion))) {
            candidates.emplace(relation.companion, relation.key);
            if (is_output_layer(relation.key) && !is_output_layer(relation.companion))
                embeddings.emplace(relation.key, relation.companion);
        }
    for (auto const& [output, embedding] : embeddings) {
        for (auto& [alias, key] : candidates)
            key = key == output ? embedding : key;
        candidates.erase(embedding);
        candidates.emplace(output, embedding);
    }
    for (auto const& [alias, key] : source.metadata().aliases)
        if (rules.as_stored && (!rules.wanted || have_same_holders(*rules.wanted, alias, key)))
            candidates.emplace(alias, key);
    return candidates;
}

RESHARD_DECL alias_map aliases_kept(checkpoint const& source, mapping const& program,
                                    alias_rules const& rules) {
    alias_map const candidates = alias_candidates(source, program, rules);
    alias_map kept;
    for (auto const& [alias, key] : candidates) {
        mapping_output const* const output = program.find(alias);
        mapping_output const* const mapping_output = program.find(key);
        if (output && mapping_output && !output->added &&
            (!rules.wanted || rules.wanted->find(key)) && !candidates.contains(key) &&
            is_one_tensor(output->value, mapping_output->value, program, source.metadata().aliases))
            kept.emplace(alias, key);
    }
    return kept;
}

} // namespace reshard::detail

#endif
