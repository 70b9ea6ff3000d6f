// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_SAVE_HPP
#define RESHARD_STORAGE_SAVE_HPP

#include <reshard/bind/job.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/layout/strictness.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/storage/model_state.hpp>
#include <reshard/storage/target_files.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <tuple>

/// \file
/// Saves tensors as a checkpoint.

namespace reshard {

/// The kind of checkpoint that `save` writes.
enum class save_form {
    sharded,     ///< ranks write their shards; one rank writes a replicated shard
    huggingface, ///< whole tensors
    chosen,      ///< whole tensors if there is a program, else sharded
};

namespace detail {

struct planned_save;

} // namespace detail

/// The plans of a rank's earlier saves. See `save_options::cache`.
using save_cache = detail::digest_cache<detail::planned_save>;

/// The options of a save. They are equal on every rank, except the deadline, functions, the devices
/// and the cache.
struct save_options {
    /// The program of the saved tensors; by default, all tensors of the ranks under their names. If
    /// the program is a function, it gets their catalog and null. A program writes whole tensors.
    /// Each process writes the elements that it can make from its shards, without a copy of the
    /// shards. Other elements are gathered, in at most 64 MiB per process.
    any_program program = {};
    save_form form = save_form::chosen;
    detail::write_options writing = {};
    detail::wait_duration deadline = 0.0; ///< as `options::deadline`
    /// The tensors that the ranks together must have. If a key is missing, nothing is written.
    vector<state_need> needs = {};
    /// Aliases of tensors, with their keys, as in `{"lm_head.weight", "embed.weight"}`. A tensor is
    /// written once, under its key, and loads find it under all its names. If ranks have tensors
    /// under both names, the key's tensor is written.
    std::map<std::string, std::string> aliases = {};
    /// If true, the tensors under both names must be equal, bit by bit; else nothing is written. If
    /// false, the key's tensor is written without a comparison.
    bool compare_aliases = true;
    /// The cache of plans, as in `options::cache`. In each save, the ranks compare a digest of
    /// their shards and of these options. If every rank has a plan for it, no rank plans, and ranks
    /// exchange only the pieces that they gather for Hugging Face files; else all ranks plan.
    /// Either every rank passes a cache, or no rank does. Saves with `program`, `writing.writer` or
    /// `writing.format` do not use the cache. An `async_saver` has its own cache.
    save_cache* cache = nullptr;

    /// The devices of this rank's tensors, as `options::devices`.
    detail::device_list devices = {};

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.form, self.writing, self.needs, self.aliases, self.compare_aliases);
    }
    static constexpr std::string_view member_names[] = {"form", "writing", "needs", "aliases",
                                                        "compare_aliases"};
};

/// The result of a save, the same on every rank.
struct save_report {
    std::string save;  ///< the id, which the record and each file contain
    index_t bytes = 0; ///< of tensors written, by all ranks
    /// The part of `bytes` that a delta takes from its base (`write_options::base`).
    index_t reused = 0;
    /// The removed files of earlier writers of this target that died.
    vector<std::string> removed = {};
    /// Sentences for people about interleaved tensors that are contiguous in the files, which have
    /// them whole.
    vector<std::string> notes = {};
};

/// Writes the tensors of all ranks as a checkpoint at `target`.
///
/// Equal shards are written once, unless `options.writing.replicas` is set. Files are written to a
/// temporary directory, which is renamed to `target` when they are complete. With
/// `options.writing.partial`, sharded tensors may lack elements. With `options.program`, `save`
/// writes the tensors that the program makes from the tensors of `have`, as `convert` does with a
/// checkpoint; it compares tensors that the program declares as copies.
///
/// \throws error, and `target` is unchanged: as `layout_of` and `checkpoint_writer`;
///         errc::not_covered for missing elements; errc::overlap for unequal shards that share
///         elements; errc::unknown_key for a key in `options.needs` or `options.aliases` that no
///         rank has; errc::overlap if an alias's tensor differs from the key's tensor, naming both,
///         the first element and both values; errc::bad_layout for an invalid alias; as the
///         program; errc::usage for a program with aliases or shards
RESHARD_DECL save_report save(solo const& alone, source_tensors have,
                              std::filesystem::path const& target,
                              save_options const& options = {});

/// The same over a communicator.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as above, on every rank; errc::ranks_disagree
RESHARD_DECL save_report save(mpi_group const& world, source_tensors have,
                              std::filesystem::path const& target,
                              save_options const& options = {});

namespace detail {

/// The values that one rank saves, as tensors. The first rank saves the common values.
RESHARD_DECL const_state_dict tensors_to_save(model_state const& state, built_state const& built,
                                              bool is_first);

/// Saves the state that `state_of` returns. The state must not move after that.
///
/// \par Collective every rank of the group, in the same order
template <group Group, class StateOf>
save_report save_what(Group const& caller, StateOf&& state_of, std::filesystem::path const& target,
                      save_options const& options) {
    Group const world = with_deadline(caller, options.deadline);
    model_state const* state = nullptr;
    built_state built;
    agree_to_run(world, "save a state to " + target.string(), {"options", options}, attempt([&] {
                     state = &state_of();
                     built = build_all(*state);
                 }));
    check_common(world, common_values(*state));
    check_objects(world, held_objects(*state));
    const_state_dict tensors;
    agree_on(world, [&] { tensors = tensors_to_save(*state, built, world.rank() == 0); });
    return save(world, tensors, target, options);
}

} // namespace detail

/// Writes the states of all ranks as a checkpoint at `target`.
///
/// Deferred tensors are built first. Each different shard and each object is written once. Common
/// values are compared, and the first rank writes them. Unsaved values are not written.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank, and `target` is unchanged: as `save` of tensors, `check_common`,
///         `check_objects` and a factory; errc::bad_layout for a key that begins with the prefix of
///         common values
template <group Group>
save_report save_state(Group const& caller, model_state const& state,
                       std::filesystem::path const& target, save_options const& options = {}) {
    return detail::save_what(
        caller, [&]() -> model_state const& { return state; }, target, options);
}

/// Saves objects, as in `save_state(ranks, std::tie(model, optimizer), "step_1")`. Gets the state
/// of each object in this order.
///
/// \throws error as above, as `state` throws, and errc::usage for a name that two objects use
template <group Group, stateful... Objects>
save_report save_state(Group const& caller, std::tuple<Objects&...> objects,
                       std::filesystem::path const& target, save_options const& options = {}) {
    model_state state;
    return detail::save_what(
        caller, [&]() -> model_state const& { return state = detail::state_of_all(objects); },
        target, options);
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/save.ipp>
#endif

#endif
