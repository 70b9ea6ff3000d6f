// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_SAVE_IPP
#define RESHARD_STORAGE_IMPL_SAVE_IPP

#include <reshard/storage/save.hpp>

#include <reshard/bind/overlap.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/copy/conversions.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/expr/fused_outputs.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/aliases.hpp>
#include <reshard/storage/checkpoint_writer.hpp>
#include <reshard/storage/file_pieces.hpp>
#include <reshard/storage/gathered_writes.hpp>
#include <reshard/storage/put_pieces.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace reshard {

namespace detail {

/// Refuses aliases without tensors if the format cannot hold aliases.
inline void check_alias_tensors(layout const& layout, save_options const& options) {
    if (!is_other_format(options.writing.format))
        return;
    for (auto const& [alias, key] : options.aliases)
        if (!layout.find(alias))
            fail(
                errc::unsupported, "'", alias, "' is another name of '", key, "', but ",
                options.writing.format,
                " has no place for other names; save a tensor of that name too, or omit the alias");
}

/// True if whole tensors are written.
inline bool writes_whole(save_options const& options) {
    return options.form == save_form::huggingface || !options.program.is_by_name();
}

/// Refuses options that cannot be combined with a program.
///
/// \throws error with errc::usage
inline void check_program_options(save_options const& options) {
    if (options.program.is_by_name())
        return;
    if (options.form == save_form::sharded)
        fail(errc::usage, "save_options.program makes whole tensors, but save_options.form asks "
                          "for shards; omit the form, or redistribute first");
    if (!options.aliases.empty())
        fail(errc::usage, "'", options.aliases.begin()->first,
             "': save_options.aliases cannot be combined with save_options.program; omit the "
             "aliases, and let the program make or remove this name");
}

inline checkpoint_plan files_to_save(mapping const& program, layout const& layout,
                                     save_options const& options) {
    vector<std::string> const keys = keys_of(program.outputs());
    check_needs("save_options.needs", options.needs, keys, keys);
    check_alias_tensors(layout, options);
    return files_for(program, writes_whole(options) ? std::nullopt : std::optional(layout),
                     options.writing, options.aliases);
}

/// A program, and notes for people about its tensors in files.
struct noted_program {
    mapping program;
    vector<std::string> notes;
};

/// Prepares the fused tensors and scales of a program for files of whole tensors. Removes the
/// program's relations.
///
/// \throws error as `check_torn`, `deinterleave_whole`, `check_fused_order` and `check_scales`
inline void fit_whole_files(noted_program& made, layout const& source,
                            save_options const& options) {
    refuse_quantised(made.program, "a save");
    carry_fused(made.program, source);
    check_torn(made.program, source);
    std::string text = deinterleave_whole(made.program, source, nullptr);
    if (!text.empty())
        made.notes.push_back(std::move(text));
    check_fused_order(fused_of(made.program, std::nullopt), options.writing.format);
    check_scales(made.program, source, true);
    made.program.forget_relations();
}

/// The program of the saved tensors. Compares tensors that the program declares as copies.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as the program, on every rank
noted_program program_of_save(group auto const& world, layout const& source,
                              const_state_dict const& tensors, save_options const& options) {
    program_steps const* const steps = options.program.steps();
    if (!steps)
        return {identity_mapping(catalog_of(source)), {}};
    any_group const ranks(world);
    noted_program made{steps->make_mapping(ranks, options.program, {&source, {}}, nullptr), {}};
    steps->compare_copies(
        ranks, tensors, made.program, options.devices,
        [&](const_state_dict const& from, state_dict const& to) { redistribute(world, from, to); });
    agree_on(world, [&] { fit_whole_files(made, source, options); });
    return made;
}

/// The plan of a save on one process. It does not depend on the tensors' memory, so that equal
/// saves share it.
///
/// \invariant the members refer to each other
struct planned_save {
    layout all;
    mapping program;           ///< of the saved tensors
    vector<std::string> notes; ///< as `save_report::notes`
    checkpoint_plan files;
    file_pieces pieces;
    file_pieces mine; ///< the pieces whose elements this process holds
    layout target;    ///< the layout of `mine`; the members below are for `mine`, too
    plan_problem work;
    plan whole;
    shard_views<tensor_view> targets;

    planned_save() = default;
    planned_save(planned_save const&) = delete;
    planned_save& operator=(planned_save const&) = delete;

    void plan_files(save_options const& options, int size) {
        files = files_to_save(program, all, options);
        pieces = writes_whole(options) ? pieces_by_holder(files, program, all, size)
                                       : pieces_by_rank(files, size);
    }

    void plan_mine(holder_t me, int size) {
        mine = pieces;
        erase_if(mine,
                 [&](file_piece const& piece) { return piece.process != me || piece.is_gathered; });
        target = layout_of(files.metadata, mine, size);
        work = problem_of(program, all, target);
        whole = make_plan(work, {holder_set::nobody(), holder_set({me})});
        targets = shapes_of(files.metadata, mine);
    }
};

/// Writes the pieces whose elements this process holds.
inline void put_held(written_files& writer, planned_save const& planned,
                     const_state_dict const& tensors, device_list const& devices, holder_t me,
                     int size) {
    shard_views<const_tensor_view> sources;
    sources.add(tensors, planned.all, me);
    bound_plan const bound{planned.whole,      planned.work, sources, planned.targets,
                           &all_conversions(), nullptr,      &devices};
    vector<std::byte> buffer;
    put_pieces(
        bound, planned.mine, me, size, writer, [](auto&&...) { return std::uint64_t{1} << 20; },
        [&](std::uint64_t bytes, std::span<piece_part const> parts) {
            return content_from_memory(bound, bytes, parts, buffer);
        },
        [](std::uint64_t) {});
}

/// Calls `plan`, which plans the files. Refuses files that differ between ranks, which the user's
/// `writer` function can cause.
///
/// \par Collective every rank of the group, in the same order
void agree_on_files(group auto const& world, checkpoint_plan const& files,
                    save_options const& options, auto&& plan) {
    std::uint64_t digest = 0;
    local_error const problem = attempt([&] {
        plan();
        if (options.writing.writer)
            digest = digest_of(files.metadata);
    });
    agree_on_digest(world, "files chosen by write_options.writer", digest, problem);
}

/// The options that the plan of a save depends on. Saves that differ only in other options share
/// the plan.
inline save_options options_of_plan(save_options options) {
    options.writing.replace = options.writing.sync = false;
    options.writing.program.clear();
    options.writing.base.clear();
    return options;
}

/// A digest of the shards of all ranks, the options, and this rank's number. The plan has only this
/// rank's pieces.
///
/// \par Collective every rank of the group, in the same order
std::uint64_t digest_of_save(group auto const& world, source_tensors const& have,
                             save_options const& options) {
    std::string const shards = list_to_bytes(have.tensors.descriptors());
    std::uint64_t const own = digest_of_all(digest_of_bytes(std::as_bytes(std::span(shards))),
                                            have.layout ? digest_of(*have.layout) : 0);
    std::uint64_t total = digest_of_all(options_of_plan(options), world.size(), world.rank());
    for (std::uint64_t const of_rank : gather_values(world, own))
        total = digest_of_all(total, of_rank);
    return total;
}

/// \par Collective every rank of the group, in the same order
std::shared_ptr<planned_save> plan_save(group auto const& world, source_tensors& have,
                                        std::filesystem::path const& target,
                                        save_options const& options) {
    auto const planned = std::make_shared<planned_save>();
    planned->all =
        layout_of_ranks(world, std::move(have.layout), have.tensors.descriptors(), "source");
    check_aliases(world, have.tensors, planned->all, options);
    noted_program made = program_of_save(world, planned->all, have.tensors, options);
    planned->program = std::move(made.program);
    planned->notes = std::move(made.notes);
    agree_on_files(world, planned->files, options, [&] {
        at_path(target, [&] {
            planned->plan_files(options, world.size());
            planned->plan_mine(static_cast<holder_t>(world.rank()), world.size());
        });
    });
    return planned;
}

/// The plan of a save, from the cache if the cache of every rank has it.
///
/// \par Collective every rank of the group, in the same order
std::shared_ptr<planned_save const> planned_before(group auto const& world, source_tensors& have,
                                                   std::filesystem::path const& target,
                                                   save_options const& options) {
    std::uint64_t const digest = digest_of_save(world, have, options);
    auto const match = options.cache->find(digest);
    auto const values = gather_values(world, index_t{match ? 1 : 0});
    if (std::ranges::find(values, 0) != values.end())
        return options.cache->add(digest, plan_save(world, have, target, options));
    check_aliases(world, have.tensors, match->all, options);
    agree_on(world, [&] { at_path(target, [&] { check_numbers(options.writing.numbers); }); });
    return match;
}

/// \par Collective every rank of the group, in the same order
save_report save_as(group auto const& world, source_tensors have,
                    std::filesystem::path const& target, save_options const& options) {
    bool const is_cached = options.cache && options.program.is_by_name() &&
                           !options.writing.writer && options.writing.format.empty();
    compared_values fingerprint("options", options);
    fingerprint.add_digest("options.program", digest_of_given(options.program));
    fingerprint.add_presence("options.cache", options.cache);
    fingerprint.add_presence("options.writing.writer",
                             options.cache && options.writing.writer); // uses no cache
    agree_to_run(world, "save to " + target.string(), fingerprint, attempt([&] {
                     check_program_options(options);
                     have.tensors.check(spaces_of(options.devices));
                     check_twins(have.tensors, options.devices);
                 }));
    auto const planned = is_cached ? planned_before(world, have, target, options)
                                   : plan_save(world, have, target, options);
    checkpoint_writer writer(world, target, planned->files, options.writing);
    agree_on(world, [&] {
        put_held(writer.files(), *planned, have.tensors, options.devices,
                 static_cast<holder_t>(world.rank()), world.size());
    });
    put_gathered(world, writer.files(), planned->pieces,
                 {planned->all, planned->program, have.tensors, options.devices});
    std::string const id = writer.commit(world);
    return {id, data_bytes(planned->files.metadata), writer.reused(),
            gather_values(world, writer.removed()).front(), planned->notes};
}

} // namespace detail

RESHARD_DECL save_report save(solo const& alone, source_tensors have,
                              std::filesystem::path const& target, save_options const& options) {
    return detail::save_as(alone, std::move(have), target, options);
}

RESHARD_DECL save_report save(mpi_group const& world, source_tensors have,
                              std::filesystem::path const& target, save_options const& options) {
    return detail::save_as(world.with_deadline(options.deadline), std::move(have), target, options);
}

} // namespace reshard

namespace reshard::detail {

RESHARD_DECL const_state_dict tensors_to_save(model_state const& state, built_state const& built,
                                              bool is_first) {
    const_state_dict tensors;
    add_tensors(tensors, state, built);
    for (held_object const& object : held_objects(state))
        tensors.add(bytes_tensor(tensor_key(object.cell), object.bytes.size()),
                    view_of_bytes(object.bytes));
    for (auto const& [descriptor, tensor] : tensors)
        if (descriptor.key.starts_with(common_prefix))
            fail(errc::bad_layout, "'", descriptor.key, "': keys that begin with '", common_prefix,
                 "' are reserved for common values; use another key");
    for (common_value const& value : common_values(state))
        if (is_first)
            tensors.add(bytes_tensor(std::string(common_prefix) + std::string(value.name),
                                     value.bytes.size()),
                        view_of_bytes(value.bytes));
    return tensors;
}

} // namespace reshard::detail

#endif
