// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_OTHER_NAMES_IPP
#define RESHARD_FORMAT_IMPL_OTHER_NAMES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/other_names.hpp>

#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/delta_files.hpp>
#include <reshard/format/fused_text.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/sharded_safetensors.hpp>

#include <algorithm>
#include <iterator>
#include <set>

namespace reshard::detail {

RESHARD_DECL bool is_own_name(std::string_view name) {
    constexpr std::string_view known_names[] = {
        sharding_info_name, reshard_info_name,  file_number_name, save_id_name,
        chunk_digests_name, header_digest_name, delta_name,       fused_name};
    return std::ranges::find(known_names, name) != std::end(known_names);
}

RESHARD_DECL bool is_metadata_name(std::string_view name) {
    return name == "format" || name == "DCP_VERSION" || is_own_name(name);
}

RESHARD_DECL bool is_text_name(std::string_view name) {
    return !is_metadata_name(name) && name != "total_size"; // describes the files, not the tensors
}

RESHARD_DECL void check_texts(std::map<std::string, std::string> const& texts,
                              std::map<std::string, std::string> const& aliases,
                              vector<std::string> const& keys) {
    for (auto const& [name, value] : texts) {
        if (is_metadata_name(name) || name.starts_with(reshard_info_name) || aliases.contains(name))
            fail(errc::usage, "write_options.texts: '", name,
                 "' is a name that the files already use; give the text another name");
        if (may_be_alias(name, value) && std::ranges::find(keys, value) != keys.end())
            fail(errc::usage, "write_options.texts: '", name, "' has the value '", value,
                 "', which is the key of a tensor: readers would take the name for an alias of "
                 "this tensor");
    }
}

RESHARD_DECL bool may_be_alias(std::string_view name, std::string_view key) {
    constexpr std::string_view of_numbers = "0123456789.";
    auto const is_number = [&](std::string_view text) {
        return text.find_first_not_of(of_numbers) == text.npos;
    };
    return !is_number(key) || is_number(name);
}

RESHARD_DECL void add_texts(checkpoint_metadata& opened,
                            std::map<std::string, std::string> const& of_file) {
    for (auto const& [name, value] : of_file)
        if (!is_own_name(name) && opened.metadata.try_emplace(name, value).first->second != value)
            opened.metadata_differs.insert(name);
}

RESHARD_DECL void note_aliases(std::map<std::string, std::string>& aliases,
                               safetensors_header const& header) {
    std::set<std::string_view> wanted, there;
    for (auto const& [name, value] : header.metadata)
        if (!is_metadata_name(name)) {
            wanted.insert(name);
            wanted.insert(value);
        }
    if (wanted.empty())
        return;
    for (safetensors_entry const& entry : header.tensors)
        if (wanted.contains(entry.name))
            there.insert(entry.name);
    for (auto const& [name, value] : header.metadata)
        if (!is_metadata_name(name) && may_be_alias(name, value) && there.contains(value) &&
            !there.contains(name))
            if (auto const [match, is_new] = aliases.try_emplace(name, value);
                !is_new && match->second != value)
                match->second = name; // is not the key of a tensor
}

/// Finds a tensor in a sorted list; null if it is missing.
inline checkpoint_tensor const* find_tensor(checkpoint_metadata const& opened,
                                            std::string_view key) {
    auto const position =
        std::lower_bound(opened.tensors.begin(), opened.tensors.end(), key,
                         [](checkpoint_tensor const& tensor, std::string_view wanted) {
                             return tensor.key < wanted;
                         });
    return position == opened.tensors.end() || position->key != key ? nullptr : &*position;
}

RESHARD_DECL void add_aliases(checkpoint_metadata& opened,
                              std::map<std::string, std::string> const& aliases) {
    vector<checkpoint_tensor> added;
    for (auto const& [alias, key] : aliases) {
        checkpoint_tensor const* const tensor = find_tensor(opened, key);
        if (!tensor || find_tensor(opened, alias))
            continue;
        added.push_back(*tensor);
        added.back().key = alias;
        opened.aliases.emplace(alias, key);
        opened.metadata.erase(alias);
    }
    if (added.empty())
        return;
    std::ranges::move(added, std::back_inserter(opened.tensors));
    std::ranges::sort(opened.tensors, {}, &checkpoint_tensor::key);
}

RESHARD_DECL checkpoint_metadata without_aliases(checkpoint_metadata opened) {
    if (!opened.aliases.empty())
        erase_if(opened.tensors, [&](checkpoint_tensor const& tensor) {
            return opened.aliases.contains(tensor.key);
        });
    return opened;
}

} // namespace reshard::detail

#endif
