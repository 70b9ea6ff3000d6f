// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_LOAD_STATE_HPP
#define RESHARD_STORAGE_LOAD_STATE_HPP

#include <reshard/copy/copy_elements.hpp>
#include <reshard/core/config.hpp>
#include <reshard/storage/at_path.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/state_tensors.hpp>

#include <filesystem>
#include <vector>

/// \file
/// From a checkpoint into a model's state.

namespace reshard {

namespace detail {

/// What one rank wants of a checkpoint, and where it goes.
struct state_load {
    built_state built;
    std::vector<bytes_to_load> bytes;
    state_dict tensors;

    /// \pre `state` stays as it is
    void prepare(model_state const& state, layout const& stored);

    /// Merges what was built, and puts the bytes in their places.
    void finish(model_state& state);
};

/// Refuses a common value of a checkpoint whose name the state has for something else.
RESHARD_DECL void check_names(model_state const& state, std::vector<bytes_to_load> const& bytes);

} // namespace detail

/// Fills a state from a checkpoint; each rank gives what it has.
///
/// Tensors are filled in place, deferred ones by their factories. Objects get the bytes of their
/// cells, whichever rank saved them. The common values become those of the checkpoint, whatever
/// they were; unsaved values stay.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike, before anything is written: as `load` of tensors, with
///         errc::unknown_key for an object that the checkpoint does not have, errc::usage for a
///         name that stands for two things, and what `build` throws; what `merge` throws comes
///         later
template <group Group>
strict_verdict load_state(Group const& world, checkpoint const& source, model_state& state,
                          options const& how = {}) {
    std::filesystem::path const& path = source.metadata().path;
    detail::state_load wanted;
    detail::agree_to_run(world, "load a state from " + path.string(), 0, detail::attempt([&] {
                             detail::at_path(path, [&] {
                                 wanted.prepare(state, source.files_layout());
                                 detail::check_names(state, wanted.bytes);
                             });
                         }));
    strict_verdict verdict = load(world, source, wanted.tensors, how);
    agree_on(world, [&] { wanted.finish(state); });
    return verdict;
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/load_state.ipp>
#endif

#endif
