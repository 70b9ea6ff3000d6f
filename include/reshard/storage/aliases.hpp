// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_ALIASES_HPP
#define RESHARD_STORAGE_ALIASES_HPP

#include <reshard/bind/equal_tensors.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Tied weights: a job has such a tensor under several names, and a checkpoint stores it once.

namespace reshard::detail {

/// Other names of tensors, with their keys.
using alias_map = std::map<std::string, std::string>;

/// \throws error with errc::bad_layout for an alias that has an alias, or that has another meaning
///         in metadata, errc::unknown_key for a key that the layout does not have,
///         errc::shape_mismatch or errc::dtype_mismatch for a tensor that does not match its
/// key
RESHARD_DECL void check_aliases(alias_map const& aliases, layout const& layout);

/// Refuses a tensor that differs from its key's tensor, bit by bit (see `difference_between`).
///
/// \par Collective every rank of the group, in the same order
/// \throws error with errc::overlap, on every rank
template <group Group>
void compare_alias(Group const& world, const_state_dict const& tensors, std::string const& name,
                   tensor_layout const& key, index_vector const& shape) {
    auto const move = [&](const_state_dict const& have, state_dict const& want) {
        redistribute(world, have, want);
    };
    if (auto const first = difference_between(any_group(world), tensors, name, key.key, move))
        fail(errc::overlap, "'", name, "' is to be another name of '", key.key,
             "', but differs from it: element ", unravel_index(first->position, shape), " is ",
             first->alias, " and ", first->key,
             "; tie them again, leave the alias out, or say that the key counts "
             "(save_options::compare_aliases = false)");
}

/// Checks the aliases of a save, and compares each alias that ranks have as a tensor with its key.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as the function above, and `compare_alias`; on every rank
void check_aliases(group auto const& world, const_state_dict const& tensors, layout const& layout,
                   auto const& options) {
    if (options.aliases.empty())
        return;
    agree_on(world, [&] { check_aliases(options.aliases, layout); });
    for (auto const& [alias, key] : options.aliases)
        if (options.compare_aliases && layout.find(alias))
            compare_alias(world, tensors, alias, *layout.find(key),
                          layout.shape_of(*layout.find(key)));
}

/// Refuses tensors of a checkpoint that a program calls copies if they differ. `rank` reads every
/// `size`-th pair of such tensors.
///
/// \throws error with errc::overlap, with the first element that differs
RESHARD_DECL void check_copies(checkpoint const& source, mapping const& program, int rank,
                               int size);

/// The tensors without duplicates: a duplicate is another tensor of the list under another name,
/// with the same shard in the same memory.
RESHARD_DECL state_dict without_twins(state_dict const& tensors, alias_map const& aliases);

/// The tensors that a checkpoint offers to a load by name: a tensor with several names is offered
/// under the wanted names, or else under its key.
RESHARD_DECL catalog offered_to(checkpoint const& source, layout const& wanted);

/// Rules for the names of a target that may be written once.
struct alias_rules {
    std::optional<layout> const& wanted;
    bool share_copies = false; ///< as `convert_options::share_copies`
    bool as_stored = true;     ///< names of tensors that the source stores once, too
};

/// The names of a target that are written once, with their keys. Copies that a program makes are
/// tensors, except:
/// - aliases of the source that the program leaves as they are, together with their keys, if the
///   target has equal shards of both on the same ranks
/// - those that the program ties (`model::tie`)
/// - all copies, if they may be shared: of an embedding and an output layer, the embedding is
///   written
RESHARD_DECL alias_map aliases_kept(checkpoint const& source, mapping const& program,
                                    alias_rules const& rules);

/// True if a key names an output layer, or the word embeddings to which models may tie it.
///
/// \par Source `_tied_weights_keys` of the models of Hugging Face transformers
RESHARD_DECL bool is_output_layer(std::string_view key);
RESHARD_DECL bool is_word_embedding(std::string_view key);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/aliases.ipp>
#endif

#endif
