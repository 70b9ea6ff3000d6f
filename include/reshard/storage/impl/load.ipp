// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_LOAD_IPP
#define RESHARD_STORAGE_IMPL_LOAD_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/load.hpp>

#include <reshard/bind/bind.hpp>
#include <reshard/bind/job_state.hpp>
#include <reshard/bind/overlap.hpp>
#include <reshard/copy/conversions.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/expr/fused_outputs.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/format/names/variable_names.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/aliases.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/chunk_reader.hpp>
#include <reshard/storage/impl/quantised_files.ipp>
#include <reshard/storage/shared_reads.hpp>
#include <reshard/storage/stored_tensor.hpp>
#include <reshard/storage/window_reads.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

namespace reshard {

namespace detail {

inline compared_values load_fingerprint(checkpoint const& source, options const& options) {
    compared_values fingerprint = call_fingerprint(options);
    fingerprint.add("options.verify", options.verify);
    fingerprint.add("options.reads", options.reads);
    fingerprint.add("options.cut_fused", options.cut_fused);
    fingerprint.add_digest("checkpoint of that name", digest_of(source.metadata()));
    return fingerprint;
}

/// The plan of one process's reads. The members point to each other.
struct load_plan {
    mapping program;
    std::uint64_t program_digest = 0;           ///< of the program as it was given; 0 by name
    std::unique_ptr<checkpoint> with_quantised; ///< null if the program quantizes nothing
    layout wanted;
    plan_problem problem;
    plan whole;
    shard_views<tensor_view> targets;
    std::unique_ptr<stored_scales> scales; ///< of a program that dequantizes
    strict_verdict verdict;

    /// The source with the tensors that the program quantizes.
    checkpoint const& from(checkpoint const& source) const {
        return with_quantised ? *with_quantised : source;
    }
};

/// The keys of the tensors that a program fills.
inline vector<std::string> keys_filled(mapping const& program, catalog const& wanted) {
    vector<std::string> keys = keys_of(wanted);
    erase_if(keys, [&](std::string const& key) {
        mapping_output const* const output = program.find(key);
        return !output || output->added;
    });
    return keys;
}

/// Runs `work`. If it throws because keys are not stored, adds the names under which the checkpoint
/// has them.
template <class Work>
void with_hint_of_names(catalog const& wanted, catalog const& stored, Work&& work) {
    try {
        work();
    } catch (error const& problem) {
        std::string const hint = problem.code() == errc::unknown_key
                                     ? hint_of_names(keys_of(wanted), stored)
                                     : std::string();
        if (hint.empty())
            throw;
        fail(problem.code(), problem.what(), "; ", hint,
             ": options.program = model::program_by_names({...})");
    }
}

/// The name of a shard in messages, without the key.
inline std::string place_text(box const& region, std::optional<flat_range> const& flat,
                              axis_cycles const& cycles = {}) {
    return to_string(region) + to_string(cycles) + (flat ? " flat " + to_string(*flat) : "");
}

/// The shards of a tensor that are in the files of one rank, in a checkpoint for one layout only.
inline vector<checkpoint_shard> shards_saved_by(holder_t rank, checkpoint_tensor const& tensor,
                                                checkpoint_metadata const& saved) {
    vector<checkpoint_shard> shards;
    for (checkpoint_shard const& shard : tensor.shards)
        if (saved.this_layout_only[shard.file] == rank)
            shards.push_back(shard);
    return shards;
}

/// Refuses a shard that rank `me` wants unless the rank's own files have exactly this shard.
inline void check_this_shard(checkpoint_metadata const& saved, checkpoint_tensor const& tensor,
                             shard_descriptor const& wanted, holder_t me) {
    auto const shards_saved = shards_saved_by(me, tensor, saved);
    auto const is_saved = [&](box const& region, axis_cycles const& cycles) {
        return tensor.shape == wanted.global_shape &&
               std::ranges::any_of(shards_saved, [&](checkpoint_shard const& shard) {
                   return shard.region == region && shard.flat == wanted.flat &&
                          shard.cycles == cycles;
               });
    };
    if (is_saved(wanted.region, wanted.cycles))
        return;
    for_each_block(wanted.region, wanted.cycles, [&](box const& block) {
        if (is_empty(block) || is_saved(block, {}))
            return;
        std::string had;
        for (checkpoint_shard const& shard : shards_saved)
            had += (had.empty() ? "" : ", ") + place_text(shard.region, shard.flat, shard.cycles);
        fail(errc::bad_layout, "'", tensor.key, "': rank ", me, " wants ",
             place_text(block, wanted.flat), " of ", wanted.global_shape, ", but rank ", me, " of ",
             saved.writers, " saved ", had.empty() ? "nothing" : had, " of ",
             index_vector(tensor.shape),
             "; this checkpoint can be loaded only in its own layout "
             "(write_options.this_layout_only): use that layout, or convert it first");
    });
}

/// If a checkpoint is for one layout only, refuses any other layout. Ignores common values, which
/// only one rank has saved.
inline void check_this_layout(checkpoint_metadata const& saved, layout const& wanted, holder_t me,
                              any_program const& program) {
    if (saved.this_layout_only.empty())
        return;
    if (!program.is_by_name())
        fail(errc::usage, "this checkpoint can be loaded only in its own layout "
                          "(write_options.this_layout_only), not through a program; omit "
                          "options.program, or convert it first");
    for (checkpoint_tensor const& tensor : saved.tensors)
        if (tensor_layout const* const same = wanted.find(tensor.key);
            same && !tensor.key.starts_with(common_prefix))
            for (shard_descriptor const& shard : shards_of(wanted, *same, me))
                check_this_shard(saved, tensor, shard, me);
}

/// Plans the reads of process `me` that fill a layout.
inline std::unique_ptr<load_plan> plan_load(checkpoint const& stored_source,
                                            target_tensors const& want, layout wanted_layout,
                                            holder_t me, options const& options) {
    auto planned = std::make_unique<load_plan>();
    load_plan& work = *planned;
    work.wanted = std::move(wanted_layout);
    check_this_layout(stored_source.metadata(), work.wanted, me, options.program);
    catalog const stored = options.program.is_by_name() ? offered_to(stored_source, work.wanted)
                                                        : catalog_of(stored_source);
    catalog const wanted = catalog_of(work.wanted);
    std::optional<mapping> program;
    if (mapping const* const mapping = options.program.known())
        program = *mapping;
    else if (!options.program.is_by_name())
        program = (*options.program.made())(stored, &wanted);
    if (program)
        work.program_digest = options.program.steps()->digest(*program);
    with_hint_of_names(wanted, stored, [&] {
        std::tie(work.program, work.verdict) =
            fitted_program(std::move(program), stored, work.wanted,
                           {options.strict.value, options.shape_mismatch.value});
    });
    work.with_quantised = with_quantised(stored_source, work.program, options.verify);
    checkpoint const& source = work.from(stored_source);
    carry_fused(work.program, source.files_layout());
    if (!options.cut_fused) {
        check_torn(work.program, source.files_layout());
        deinterleave_whole(work.program, source.files_layout(), &work.wanted);
        check_fused(work.program, work.wanted);
    }
    check_needs("options.needs", options.needs, keys_of(wanted), keys_filled(work.program, wanted));
    check_scales(work.program, source.files_layout(), false);
    check_scales(work.program, work.wanted);
    work.problem = problem_of(work.program, source.files_layout(), work.wanted);
    work.problem.source_names = &source.file_names();
    work.whole =
        make_plan(work.problem, {holder_set::nobody(), holder_set({me})}, {.shared_sources = true});
    if (dequantizes(work.program) && united(source))
        fail(errc::unsupported,
             "a program cannot dequantize a checkpoint whose files are on several "
             "machines; copy the files to one of them, or convert it first");
    check_scales_exist(work.program, work.problem);
    if (dequantizes(work.program))
        work.scales = std::make_unique<stored_scales>(source, work.program, options.verify);
    work.targets.add(want.tensors, work.wanted, me);
    check_complete(work.targets, work.wanted, me);
    return planned;
}

/// \throws error with errc::usage
inline void check_load(checkpoint const& source, target_tensors const& want,
                       options const& options) {
    state_dict const apart = options.program.is_by_name()
                                 ? without_twins(want.tensors, source.metadata().aliases)
                                 : want.tensors;
    reshard::detail::check_memory({}, {&apart, 1}, options.devices);
    if (options.memory || options.cache)
        fail(errc::usage, "load() does not support options.memory or options.cache; omit them");
    if (options.between_nodes.has_relays() &&
        (options.reads == file_reads::direct || source.is_mapped()))
        fail(errc::usage, "relays() passes on the bytes that one rank reads, but ",
             source.is_mapped() ? "a mapped checkpoint is not read; open it without `mapped`"
                                : "with options.reads = direct each rank reads for itself",
             ", or remove relays() from options.between_nodes");
}

inline bound_plan bound_by(load_plan const& work, checkpoint const& source,
                           device_list const& devices) {
    return {work.whole,         work.problem,      source.shapes(), work.targets,
            &all_conversions(), work.scales.get(), &devices};
}

/// The result of planning a process's reads.
struct load_stage {
    std::unique_ptr<load_plan> work;
    std::unique_ptr<planned_reads> reads;
};

/// Plans the reads of one rank, and compares its share of the replicas. Does not communicate.
inline load_stage stage_load(checkpoint const& stored, target_tensors const& want, layout wanted,
                             group_place at, options const& options) {
    load_stage stage;
    at_path(stored.metadata().path,
            [&] { stage.work = plan_load(stored, want, std::move(wanted), at.me, options); });
    load_plan const& work = *stage.work;
    checkpoint const& source = work.from(stored);
    auto const rank = static_cast<int>(at.me), ranks = static_cast<int>(at.ranks);
    check_copies(source, work.program, rank, ranks);
    if (!united(source))
        check_saved_replicas(
            source, tensors_used(work.problem, work.program, source.files_layout()), rank, ranks);
    stage.reads = std::make_unique<planned_reads>(
        source, loops_of(bound_by(work, source, options.devices)), options.verify);
    return stage;
}

/// Refuses a program that another rank does not run.
inline void check_same_program(vector<read_notice> const& notices, std::string const& operation) {
    for (std::size_t rank = 1; rank < notices.size(); ++rank)
        if (notices[rank].program_digest != notices[0].program_digest)
            fail_with_different_values(operation, rank);
}

/// \par Collective every rank of the group, in the same order
strict_verdict load_as(group auto const& world, checkpoint const& source, target_tensors want,
                       options const& options) {
    call_opening opening{call_on("load", source), load_fingerprint(source, options)};
    opening.problem = attempt([&] {
        check_load(source, want, options);
        if (world.size() > 1)
            opening.fingerprint.add("RESHARD_RANKS_PER_NODE", ranks_per_node(0));
        opening.attachment = content_bytes(notice_of(want.layout, want.tensors.descriptors()));
    });
    auto const notices = values_of_ranks<layout_notice>(open_call(world, opening));
    layout wanted = layout_told(world, std::move(want.layout), notices, "target");
    load_stage stage;
    read_notice own_notice;
    own_notice.problem = encode(attempt([&] {
        stage = stage_load(
            source, want, std::move(wanted),
            {static_cast<holder_t>(world.rank()), static_cast<holder_t>(world.size())}, options);
        own_notice = notice_of(*stage.reads, options.reads);
        own_notice.program_digest = stage.work->program_digest;
    }));
    auto const reads = gather_values(world, own_notice);
    throw_first(reads, &read_notice::problem);
    check_same_program(reads, opening.operation);
    if (united(source))
        check_replicas(
            world, source,
            tensors_used(stage.work->problem, stage.work->program, source.files_layout()));
    stage.reads->problem = attempt([&] {
        run_and_wait(options.devices, [&] {
            for (transfer const& t : stage.work->whole.transfers)
                if (t.source_key == zero_source)
                    run_locally(bound_by(*stage.work, stage.work->from(source), options.devices),
                                t);
        });
    });
    read_windows(world, *stage.reads, reads, options);
    if (auto const& scales = stage.work->scales)
        agree_on(world, [&] { scales->check_unchanged(); });
    return std::move(stage.work->verdict);
}

} // namespace detail

RESHARD_DECL strict_verdict load(solo const& alone, checkpoint const& source, target_tensors want,
                                 options const& options) {
    return detail::load_as(alone, source, std::move(want), options);
}

RESHARD_DECL strict_verdict load(mpi_group const& world, checkpoint const& source,
                                 target_tensors want, options const& options) {
    return detail::load_as(world.with_deadline(options.deadline), source, std::move(want), options);
}

} // namespace reshard

namespace reshard::detail {

RESHARD_DECL void state_load::prepare(model_state const& state, layout const& stored) {
    built = build_all(state);
    bytes = bytes_of(state, stored);
    add_tensors(tensors, state, built);
    for (bytes_to_load& wanted : bytes)
        tensors.add(bytes_tensor(wanted.key, wanted.bytes.size()), view_of_bytes(wanted.bytes));
}

RESHARD_DECL vector<std::string> state_load::cells() const {
    vector<std::string> keys;
    for (bytes_to_load const& wanted : bytes)
        if (!wanted.key.starts_with(common_prefix))
            keys.push_back(wanted.key);
    return keys;
}

RESHARD_DECL void state_load::finish(model_state& state) {
    for (auto const& [deferred, shards] : built)
        merge(*deferred, shards);
    for (bytes_to_load& loaded : bytes) {
        auto const [position, is_new] = state.try_emplace(loaded.name, stored_value{});
        if (auto* const object = std::get_if<stored_object>(&position->second))
            object->bytes = std::move(loaded.bytes);
        else
            position->second = stored_value{std::move(loaded.bytes)};
    }
}

RESHARD_DECL strict_verdict judge_values(model_state const& state, layout const& stored,
                                         std::optional<strictness> strict) {
    key_mismatch lacking;
    for (auto const& [name, entry] : state)
        if (std::string key = std::string(common_prefix) + name;
            std::holds_alternative<stored_value>(entry) && !stored.find(key))
            lacking.unexpected.push_back(std::move(key));
    auto mode = strict.value_or(strictness::raise_unexpected);
    if (mode == strictness::assume_ok_unexpected) // the load refuses keys that it cannot find
        mode = strictness::raise_unexpected;
    strict_verdict const verdict = judge(mode, lacking);
    raise(verdict);
    return verdict;
}

RESHARD_DECL void add_unexpected(strict_verdict& verdict, vector<std::string> const& logged,
                                 vector<std::string> const& returned) {
    auto const add = [](vector<std::string>& all, vector<std::string> const& more) {
        for (std::string const& key : more)
            if (std::ranges::find(all, key) == all.end())
                all.push_back(key);
    };
    add(verdict.log.unexpected, logged);
    add(verdict.give_back.unexpected, returned);
}

RESHARD_DECL void check_names(model_state const& state, vector<bytes_to_load> const& bytes) {
    for (bytes_to_load const& wanted : bytes) {
        auto const position = state.find(wanted.name);
        if (wanted.key.starts_with(common_prefix) && position != state.end() &&
            !std::holds_alternative<stored_value>(position->second))
            fail(errc::usage, "'", wanted.name,
                 "' is a common value in the checkpoint, but not in the state; rename it in the "
                 "state");
    }
}

} // namespace reshard::detail

#endif
