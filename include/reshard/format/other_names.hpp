// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_OTHER_NAMES_HPP
#define RESHARD_FORMAT_OTHER_NAMES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/safetensors.hpp>

#include <map>
#include <string>
#include <string_view>

/// \file
/// Other names of a tensor that a checkpoint stores once: tied weights.

namespace reshard::detail {

/// True for a name in a file's metadata for the library itself: for shards, the save or digests.
RESHARD_DECL bool is_own_name(std::string_view name);

/// True for a name that is not an alias, because it has another meaning in the metadata of a file.
RESHARD_DECL bool is_metadata_name(std::string_view name);

/// True for a name that a user's text may have in the metadata of any file.
RESHARD_DECL bool is_text_name(std::string_view name);

/// False for a name that cannot be an alias of a key: a number is only an alias of numbers, so that
/// `{"epoch": "1"}` does not refer to a tensor `1`.
RESHARD_DECL bool may_be_alias(std::string_view name, std::string_view key);

/// Adds the aliases in a file's metadata: `{alias: key}`, if the key is a tensor of the file and
/// the alias is not. If two files give an alias different keys, the alias is dropped.
///
/// \par Source `save_model` of the safetensors package, which stores each removed name with the
///             name that it writes
RESHARD_DECL void note_aliases(std::map<std::string, std::string>& aliases,
                               safetensors_header const& header);

/// Refuses texts that readers of the metadata would misunderstand: names that are ours or aliases,
/// and values that are keys of tensors.
///
/// \throws error with errc::usage, naming the text
RESHARD_DECL void check_texts(std::map<std::string, std::string> const& texts,
                              std::map<std::string, std::string> const& aliases,
                              vector<std::string> const& keys);

/// Adds the texts in the metadata of another file, except our own texts. If files disagree on a
/// text, its first value stays, and `metadata_differs` gets its name.
RESHARD_DECL void add_texts(checkpoint_metadata& opened,
                            std::map<std::string, std::string> const& of_file);

/// Adds each alias as a tensor with the shards of its key. Omits an alias that is a tensor itself,
/// or whose key is not a tensor.
RESHARD_DECL void add_aliases(checkpoint_metadata& opened,
                              std::map<std::string, std::string> const& aliases);

/// The tensors whose bytes a checkpoint stores: all except the aliases.
RESHARD_DECL checkpoint_metadata without_aliases(checkpoint_metadata opened);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/other_names.ipp>
#endif

#endif
