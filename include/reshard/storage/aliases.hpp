// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_ALIASES_HPP
#define RESHARD_STORAGE_ALIASES_HPP

#include <reshard/bind/equal_tensors.hpp>
#include <reshard/core/config.hpp>
#include <reshard/device/host_tensors.hpp>
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
/// Tied weights: a job has one tensor under several names, and a checkpoint stores it once.

namespace reshard::detail {

/// Maps each alias of a tensor to the tensor's key.
using alias_map = std::map<std::string, std::string>;

/// \throws error with errc::bad_layout if an alias has an alias, is empty, or is a reserved name of
///         the metadata; errc::unknown_key if the layout lacks a key; errc::shape_mismatch or
///         errc::dtype_mismatch if the layout has a tensor under an alias, and it does not match
///         the key's tensor
RESHARD_DECL void check_aliases(alias_map const& aliases, layout const& layout);

/// Refuses an alias whose tensor differs from the key's tensor in any bit (see
/// `difference_between`).
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
        fail(errc::overlap, "'", name, "' is declared as another name of '", key.key,
             "', but differs from it: element ", unravel_index(first->position, shape), " is ",
             first->alias, " and ", first->key,
             "; tie them again, omit the alias, or set save_options::compare_aliases = false to "
             "save the key's tensor");
}

/// Checks the aliases of a save. If ranks have a tensor under an alias, compares it with the key's
/// tensor.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank, as the overload above and as `compare_alias`
void check_aliases(group auto const& world, const_state_dict const& held, layout const& layout,
                   auto const& options) {
    if (options.aliases.empty())
        return;
    std::optional<host_tensors> copies;
    agree_on(world, [&] {
        check_aliases(options.aliases, layout);
        if (!held.devices().empty() && options.compare_aliases)
            copies.emplace(held, options.devices, [&](std::string const& key) {
                auto const is_it = [&](auto const& names) {
                    return layout.find(names.first) && (names.first == key || names.second == key);
                };
                return std::ranges::any_of(options.aliases, is_it);
            });
    });
    const_state_dict const& tensors = copies ? copies->tensors() : held;
    for (auto const& [alias, key] : options.aliases)
        if (options.compare_aliases && layout.find(alias))
            compare_alias(world, tensors, alias, *layout.find(key),
                          layout.shape_of(*layout.find(key)));
}

/// Refuses tensors of a checkpoint that differ although the program declares them as copies.
/// Process `rank` of `size` compares every `size`-th pair.
///
/// \throws error with errc::overlap, naming the first element that differs
RESHARD_DECL void check_copies(checkpoint const& source, mapping const& program, int rank,
                               int size);

/// The tensors without duplicates. A duplicate has the same shard in the same memory as an earlier
/// tensor, under another name.
RESHARD_DECL state_dict without_twins(state_dict const& tensors, alias_map const& aliases);

/// The tensors that a load by name can read. A tensor with several names is listed under each
/// wanted name; if no name is wanted, under its key.
RESHARD_DECL catalog offered_to(checkpoint const& source, layout const& wanted);

/// Rules for the aliases of a target.
struct alias_rules {
    std::optional<layout> const& wanted;
    bool share_copies = false; ///< as `convert_options::share_copies`
    bool as_stored = true;     ///< if true, aliases of the source stay aliases
};

/// The aliases of a target, with their keys. A copy that the program makes is a separate tensor,
/// except:
/// - an alias of the source, if the program changes neither the alias nor its key, and the same
///   ranks of the target hold equal shards of both
/// - a copy that the program ties (`model::tie`)
/// - every copy, if `share_copies` is set; if an output layer has a copy, the copy is the key
RESHARD_DECL alias_map aliases_kept(checkpoint const& source, mapping const& program,
                                    alias_rules const& rules);

/// True if a key names an output layer, or word embeddings that a model may tie to it.
///
/// \par Source `_tied_weights_keys` of the models of Hugging Face transformers
RESHARD_DECL bool is_output_layer(std::string_view key);
RESHARD_DECL bool is_word_embedding(std::string_view key);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/aliases.ipp>
#endif

#endif
