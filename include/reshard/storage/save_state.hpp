// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_SAVE_STATE_HPP
#define RESHARD_STORAGE_SAVE_STATE_HPP

#include <reshard/core/config.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/state_tensors.hpp>

#include <filesystem>

/// \file
/// From a model's state to a checkpoint.

namespace reshard {

namespace detail {

/// All that one rank gives a checkpoint, as tensors; the first rank gives the common values.
RESHARD_DECL const_state_dict tensors_to_save(model_state const& state, built_state const& built,
                                              bool is_first);

} // namespace detail

/// Writes the states of all ranks as a checkpoint at `target`.
///
/// Deferred tensors are built first. Each different shard and each object is written once; common
/// values are compared, and written by the first rank; unsaved values are not written.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike, and `target` is what it was: as `save` of tensors,
///         `check_common` and `check_objects`, with errc::bad_layout for a key that begins as those
///         of common values do, and what a factory throws
template <group Group>
void save_state(Group const& world, model_state const& state, std::filesystem::path const& target,
                save_options const& how = {}) {
    detail::built_state built;
    detail::agree_to_run(world, "save a state to " + target.string(), detail::digest_of(how),
                         detail::attempt([&] { built = detail::build_all(state); }));
    detail::check_common(world, detail::common_values(state));
    detail::check_objects(world, detail::held_objects(state));
    const_state_dict tensors;
    agree_on(world, [&] { tensors = detail::tensors_to_save(state, built, world.rank() == 0); });
    save(world, tensors, target, how);
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/save_state.ipp>
#endif

#endif
