// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_SAVE_HPP
#define RESHARD_STORAGE_SAVE_HPP

#include <reshard/bind/redistribute.hpp>
#include <reshard/core/config.hpp>
#include <reshard/mpi/gather_layouts.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/at_path.hpp>
#include <reshard/storage/checkpoint_writer.hpp>

#include <cstdint>
#include <filesystem>

/// \file
/// From tensors to a checkpoint.

namespace reshard {

/// Which kind of checkpoint `save` writes.
enum class save_form {
    sharded,     ///< each rank writes the shards that it holds as the lowest rank
    huggingface, ///< whole tensors
};

namespace detail {

RESHARD_DECL checkpoint_plan files_to_save(layout const& held, save_form form,
                                           write_options const& options);

} // namespace detail

/// Writes the tensors of all ranks as a checkpoint at `target`.
///
/// Each different shard is written once. Files appear in a temporary directory, and all at once at
/// `target` when they are complete. With `options.partial`, sharded tensors may lack elements.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike, and `target` is what it was: as `layout_of` and
///         `checkpoint_writer`; errc::not_covered, or errc::overlap for unequal shards that share
///         elements; errc::ranks_disagree
template <group Group>
void save(Group const& world, const_state_dict const& source, std::filesystem::path const& target,
          save_form form = save_form::sharded, write_options const& options = {}) {
    agree_to_run(world, "save to " + target.string(),
                 digest_of(options) + static_cast<std::uint64_t>(form));
    layout const held = detail::layout_of_all(world, source.descriptors());
    checkpoint_plan files;
    agree_on(world, [&] {
        detail::at_path(target, [&] { files = detail::files_to_save(held, form, options); });
    });
    checkpoint_writer writer(world, target, files, options.replace);
    state_dict filled;
    agree_on(world, [&] { filled = writer.tensors(); });
    redistribute(world, source, filled);
    writer.commit(world);
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/save.ipp>
#endif

#endif
