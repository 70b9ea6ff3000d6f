// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_SAVE_HPP
#define RESHARD_STORAGE_SAVE_HPP

#include <reshard/local.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/checkpoint_writer.hpp>

#include <optional>

/// \file
/// From tensors to a checkpoint.

namespace reshard {

/// Which kind of checkpoint `save` writes.
enum class save_form {
    sharded,     ///< each rank writes the shards that it holds as the lowest rank
    huggingface, ///< whole tensors
};

/// Writes the tensors of all ranks as a checkpoint at `target`.
///
/// Each different shard is written once. Files appear in a temporary directory, and all at once at
/// `target` when they are complete.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike, and `target` is what it was: as `layout_of` and
///         `checkpoint_writer`; errc::not_covered or errc::overlap unless `options.partial`;
///         errc::ranks_disagree
template <group Group>
void save(Group const& world, const_state_dict const& source, std::filesystem::path const& target,
          save_form form = save_form::sharded, write_options const& options = {}) {
    agree_to_run(world, "save to " + target.string(),
                 static_cast<std::uint64_t>(form) * 4 + options.replace * 2u + options.partial);
    layout const held = gather_layout(world, source);
    bool const is_sharded = form == save_form::sharded;
    mapping const program = identity_mapping(catalog_of(held));
    checkpoint_plan const files =
        files_for(program, is_sharded ? std::optional(held) : std::nullopt, options);
    checkpoint_writer<Group> writer(world, target, files, options.replace);
    redistribute(world, source, writer.tensors());
    writer.commit();
}

} // namespace reshard

#endif
