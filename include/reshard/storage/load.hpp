// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_LOAD_HPP
#define RESHARD_STORAGE_LOAD_HPP

#include <reshard/bind/job.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/model_state.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

/// \file
/// Loads a checkpoint into tensors.

namespace reshard {

/// Fills the tensors of `want` from a checkpoint, by name or with `options.program`. Each rank
/// passes its own tensors.
///
/// Reads only the bytes that shards need. If several ranks of a node need the same bytes, one rank
/// reads them for all (`options.reads`); if `options.between_nodes` is `relays()`, one rank reads
/// them for all nodes. If a rank does not see a file, another rank reads it for that rank. Each
/// rank compares its share of the replicas that are used. The result lists the keys that
/// `options.strict` reports. Omitted tensors, and tensors that the program only adds, keep their
/// content. The parts of an interleaved tensor that is wanted whole become contiguous, unless
/// `options.cut_fused` is set. `load` uses the options named here, `needs`, `shape_mismatch`,
/// `verify` and `deadline`. A program that is a function gets the catalogs of the checkpoint and of
/// the tensors that all ranks want.
///
/// \throws error with errc::corrupt_file for bytes that differ from the saved bytes, and errc::io;
///         then tensors have the bytes read before. All other errors come before anything is
///         written: as `layout_of`, `problem_of` and `make_plan`, beginning with the checkpoint's
///         path; errc::bad_layout if a fused tensor is wanted in another number of parts than its
///         own; errc::overlap if replicas differ; errc::memory_overlap if tensors share memory;
///         errc::unknown_key for a key that the checkpoint lacks, or that `options.strict` or
///         `options.needs` refuses; errc::usage for options that `load` does not support
RESHARD_DECL strict_verdict load(solo const& alone, checkpoint const& source, target_tensors want,
                                 options const& options = {});

/// The same over a communicator.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as above, on every rank; errc::ranks_disagree
RESHARD_DECL strict_verdict load(mpi_group const& world, checkpoint const& source,
                                 target_tensors want, options const& options = {});

namespace detail {

/// The tensors and bytes that one rank loads into a state.
struct state_load {
    built_state built;
    vector<bytes_to_load> bytes;
    state_dict tensors;

    /// \pre `state` does not change until `finish`
    void prepare(model_state const& state, layout const& stored);

    /// The keys of the cells that the objects are loaded from.
    vector<std::string> cells() const;

    /// Merges the built tensors, and stores the objects' bytes.
    void finish(model_state& state);
};

/// Refuses a common value of a checkpoint if the state has an entry of another kind under its name.
RESHARD_DECL void check_names(model_state const& state, vector<bytes_to_load> const& bytes);

/// Judges the common values of a state that a checkpoint lacks. They are unexpected keys: an error,
/// unless `strict` skips such keys.
///
/// \throws error with errc::unknown_key
RESHARD_DECL strict_verdict judge_values(model_state const& state, layout const& stored,
                                         std::optional<strictness> strict);

/// Adds unexpected keys to a verdict.
RESHARD_DECL void add_unexpected(strict_verdict& verdict, vector<std::string> const& logged,
                                 vector<std::string> const& returned);

/// Loads into the state that `state_of` returns. The state must not move after that.
///
/// \par Collective every rank of the group, in the same order
template <group Group, class StateOf>
strict_verdict load_what(Group const& caller, checkpoint const& source, StateOf&& state_of,
                         options const& options) {
    Group const world = with_deadline(caller, options.deadline);
    state_load wanted;
    model_state* state = nullptr;
    strict_verdict values;
    agree_to_run(world, call_on("load a state from", source), 0, attempt([&] {
                     state = &state_of();
                     at_path(source.metadata().path, [&] {
                         wanted.prepare(*state, source.files_layout());
                         check_names(*state, wanted.bytes);
                         values = judge_values(*state, source.files_layout(), options.strict.value);
                     });
                 }));
    strict_verdict verdict = load(world, source, wanted.tensors, options);
    auto const taken = gather_values(world, wanted.cells());
    auto const logged = gather_values(world, values.log.unexpected);
    auto const returned = gather_values(world, values.give_back.unexpected);
    for (std::size_t rank = 0; rank < logged.size(); ++rank)
        add_unexpected(verdict, logged[rank], returned[rank]);
    if (!options.strict.value)
        verdict.log.missing = cells_left(source.files_layout(), taken);
    agree_on(world, [&] { wanted.finish(*state); });
    return verdict;
}

} // namespace detail

/// Fills a state from a checkpoint. Each rank passes its own state.
///
/// Tensors are filled in place, and deferred tensors by their factories. An object gets the bytes
/// of the cell with its index; the rank that saved the cell does not matter. If the array has no
/// such cell, `object_rule` decides. `log.missing` of the result lists the cells that no rank
/// takes, unless `options.strict` lists them elsewhere. The checkpoint's common values replace the
/// state's. Values and tensors that the checkpoint lacks are unexpected keys. Unsaved values stay.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank, before anything is written: as `load` of tensors; errc::unknown_key
///         for an object or a value that the checkpoint lacks; errc::shape_mismatch for an object
///         if the checkpoint's array has another number of axes; errc::usage for a name with two
///         meanings; as `build`. Errors of `merge` come after the reads
template <group Group>
strict_verdict load_state(Group const& caller, checkpoint const& source, model_state& state,
                          options const& options = {}) {
    return detail::load_what(
        caller, source, [&]() -> model_state& { return state; }, options);
}

/// Fills objects, as in `load_state(ranks, saved, std::tie(model, optimizer))`. Gets the state of
/// each object in this order. When all ranks have loaded, calls `loaded` of each object with the
/// states of all objects. Does not call it if the load fails.
///
/// \throws error as above, as `state` and `loaded` throw, and errc::usage for a name that two
///         objects use
template <group Group, stateful... Objects>
strict_verdict load_state(Group const& caller, checkpoint const& source,
                          std::tuple<Objects&...> objects, options const& options = {}) {
    model_state state;
    strict_verdict verdict = detail::load_what(
        caller, source, [&]() -> model_state& { return state = detail::state_of_all(objects); },
        options);
    agree_on(detail::with_deadline(caller, options.deadline), [&] {
        std::apply([&](Objects&... object) { (object.loaded(std::as_const(state)), ...); },
                   objects);
    });
    return verdict;
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/load.ipp>
#endif

#endif
