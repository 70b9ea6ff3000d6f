// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_ALIASES_HPP
#define RESHARD_STORAGE_ALIASES_HPP

#include <reshard/bind/redistribute.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// \file
/// Tied weights: tensors that a job has under several names, and a checkpoint once.

namespace reshard::detail {

/// Other names of tensors, with their keys.
using alias_map = std::map<std::string, std::string>;

/// \throws error with errc::bad_layout for an alias that has an alias or that metadata has another
///         meaning for, errc::unknown_key for a key that the layout does not have,
///         errc::shape_mismatch or errc::dtype_mismatch for a tensor that is not like that of its
/// key
RESHARD_DECL void check_aliases(alias_map const& aliases, layout const& all);

/// The shards of one key.
RESHARD_DECL const_state_dict shards_of_key(const_state_dict const& all, std::string const& key);

/// True where each shard of `alias` is one of `tensors` too, in the same memory.
RESHARD_DECL bool is_same_memory(const_state_dict const& alias, const_state_dict const& tensors);

/// Memory for a copy of the shards of an alias, as shards of its key.
struct alias_copy {
    std::vector<std::vector<std::byte>> memory;
    state_dict shards;

    alias_copy(const_state_dict const& alias, std::string const& key);
};

/// An element in which two tensors differ: its place in row-major order, and both values.
struct alias_difference {
    index_t place = 0;
    std::string alias;
    std::string key;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.place, self.alias, self.key);
    }
};

/// The first one among the shards of this rank.
RESHARD_DECL std::optional<alias_difference> first_difference(const_state_dict const& alias,
                                                              alias_copy const& copy);

/// Refuses a tensor that differs from that of its key, bit by bit, however both are spread. What
/// all ranks have in the same memory is not looked at; else each rank needs memory for a copy of
/// its shards of the alias.
///
/// \par Collective every rank of the group, in the same order
/// \throws error with errc::overlap, on every rank alike
template <group Group>
void compare_alias(Group const& world, const_state_dict const& tensors, std::string const& name,
                   tensor_layout const& key, index_vector const& shape) {
    const_state_dict const alias = shards_of_key(tensors, name);
    const_state_dict const held = shards_of_key(tensors, key.key);
    auto const same = gather_values(world, int{is_same_memory(alias, held)});
    if (std::ranges::count(same, 0) == 0)
        return;
    std::optional<alias_copy> copy;
    agree_on(world, [&] { copy.emplace(alias, key.key); });
    redistribute(world, held, copy->shards);
    std::vector<alias_difference> mine;
    if (auto found = first_difference(alias, *copy))
        mine.push_back(std::move(*found));
    std::optional<alias_difference> first;
    for (auto& of_rank : gather_values(world, mine))
        for (alias_difference& one : of_rank)
            if (!first || one.place < first->place)
                first = std::move(one);
    if (first)
        fail(errc::overlap, "'", name, "' is to be another name of '", key.key,
             "', but differs from it: element ", unravel_index(first->place, shape), " is ",
             first->alias, " and ", first->key,
             "; tie them again, leave the alias out, or say that the key counts "
             "(save_options::compare_aliases = false)");
}

/// Checks the aliases of a save, and compares those that ranks have as tensors.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as the function above, and `compare_alias`; on every rank alike
void check_aliases(group auto const& world, const_state_dict const& tensors, layout const& all,
                   auto const& how) {
    if (how.aliases.empty())
        return;
    agree_on(world, [&] { check_aliases(how.aliases, all); });
    for (auto const& [alias, key] : how.aliases)
        if (how.compare_aliases && all.find(alias))
            compare_alias(world, tensors, alias, *all.find(key), all.shape_of(*all.find(key)));
}

/// The tensors without those that are another one of the list under another name: the same shard in
/// the same memory.
RESHARD_DECL state_dict without_twins(state_dict const& tensors, alias_map const& aliases);

/// What a checkpoint offers to those who want `wanted` by name: of a tensor with several names,
/// those that are wanted, or else its key.
RESHARD_DECL catalog offered_to(checkpoint const& source, layout const& wanted);

/// The aliases of a checkpoint that a program leaves as they are, together with their keys; those
/// that it makes itself (see `model::tie`) among them.
RESHARD_DECL alias_map aliases_kept(checkpoint const& source, mapping const& program,
                                    std::optional<layout> const& wanted);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/aliases.ipp>
#endif

#endif
