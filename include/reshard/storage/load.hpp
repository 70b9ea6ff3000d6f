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

/// Fills the tensors of `want` from a checkpoint, by name, or as `options.program` says. Each rank
/// gives its own tensors.
///
/// Only bytes that shards need are read. The rank that needs them reads them; if several ranks of a
/// node need them, one of these does (`options.reads`); if several nodes need them, and
/// `options.between_nodes` is `relays()`, one rank of all does. If a rank does not see a file, a
/// rank that sees it reads its bytes. Each rank compares its share of the replicas of the tensors
/// that are used. Tensors that the program only adds keep their content, and so do tensors that
/// `options.strict` omits; the result lists them, and the other keys that the mode reports. If an
/// interleaved tensor is wanted whole, its tensors come one after the other, unless
/// `options.cut_fused` is set. Of the options, `program`, `strict`, `needs`, `shape_mismatch`,
/// `verify`, `reads`, `relays` and `deadline` apply; a function gets the catalogs of the checkpoint
/// and of the tensors that all ranks want.
///
/// \throws error with errc::corrupt_file for bytes that differ from the saved bytes, and errc::io;
///         then tensors have the bytes read before. All other errors come before anything is
///         written: as `layout_of`, `problem_of` and `make_plan`, beginning with the checkpoint's
///         path; errc::bad_layout if a fused tensor is wanted in other parts than it was made for;
///         errc::overlap for replicas that differ, errc::memory_overlap for tensors that share
///         memory, errc::unknown_key for a key that the checkpoint does not have, or if
///         `options.strict` or `options.needs` says so; errc::usage for options that do not apply
RESHARD_DECL strict_verdict load(solo const& alone, checkpoint const& source, target_tensors want,
                                 options const& options = {});

/// The same over a communicator.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as above, on every rank; errc::ranks_disagree
RESHARD_DECL strict_verdict load(mpi_group const& world, checkpoint const& source,
                                 target_tensors want, options const& options = {});

namespace detail {

/// The request of one rank for a checkpoint, with the tensors to fill.
struct state_load {
    built_state built;
    vector<bytes_to_load> bytes;
    state_dict tensors;

    /// \pre `state` stays as it is
    void prepare(model_state const& state, layout const& stored);

    /// The keys of the objects' cells.
    vector<std::string> cells() const;

    /// Merges the built tensors, and stores the objects' bytes.
    void finish(model_state& state);
};

/// Refuses a common value of a checkpoint if its name means something else in the state.
RESHARD_DECL void check_names(model_state const& state, vector<bytes_to_load> const& bytes);

/// Judges the common values that a state has and a checkpoint lacks. They are unexpected keys, and
/// an error unless `strict` skips such keys.
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

/// Fills a state from a checkpoint; each rank gives its own.
///
/// Tensors are filled in place, and deferred tensors by their factories. Objects get the bytes of
/// their cells, regardless of the ranks that saved them, and of the number of cells (see
/// `object_rule`); cells that no rank takes are in `log.missing` of the result, unless
/// `options.strict` lists them elsewhere. The checkpoint's common values replace those of the
/// state. Values that it lacks are unexpected keys, like tensors that it lacks. Unsaved values
/// stay.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank, before anything is written: as `load` of tensors, with
///         errc::unknown_key for an object or a value that the checkpoint does not have,
///         errc::shape_mismatch for an object if the checkpoint's array has another number of axes,
///         errc::usage for a name with two meanings, and as `build` throws; errors of `merge` come
///         later
template <group Group>
strict_verdict load_state(Group const& caller, checkpoint const& source, model_state& state,
                          options const& options = {}) {
    return detail::load_what(
        caller, source, [&]() -> model_state& { return state; }, options);
}

/// The same for objects, as in `load_state(ranks, saved, std::tie(model, optimizer))`. Each object
/// is asked for its state, in this order. When all ranks have loaded, `loaded` of each object is
/// called with the states of all; if the load fails, it is not called.
///
/// \throws error as above, as `state` and `loaded` throw, and errc::usage for a name that two
///         objects give
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
