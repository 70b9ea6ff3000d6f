// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_SAVE_IPP
#define RESHARD_STORAGE_IMPL_SAVE_IPP

#include <reshard/storage/save.hpp>

#include <reshard/bind/redistribute.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/aliases.hpp>
#include <reshard/storage/checkpoint_writer.hpp>
#include <reshard/storage/file_pieces.hpp>
#include <reshard/storage/gathered_writes.hpp>
#include <reshard/storage/put_pieces.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace reshard {

namespace detail {

inline checkpoint_plan files_to_save(layout const& all, save_options const& how) {
    std::vector<std::string> const keys = keys_of(all.tensors);
    check_needs("save_options.needs", how.needs, keys, keys);
    return files_for(identity_mapping(catalog_of(all)),
                     how.form == save_form::sharded ? std::optional(all) : std::nullopt,
                     how.writing, how.aliases);
}

/// Writes the pieces whose elements this process holds.
inline void put_held(written_files& writer, file_pieces const& all_pieces, layout const& all,
                     const_state_dict const& tensors, holder_t me, int size) {
    file_pieces mine = all_pieces;
    std::erase_if(
        mine, [&](file_piece const& piece) { return piece.process != me || piece.is_gathered; });
    checkpoint_metadata const& written = writer.plan().metadata;
    layout const target = layout_of(written, mine, size);
    mapping const program = identity_mapping(catalog_of(all)); // outlives the problem
    plan_problem const work = problem_of(program, all, target);
    plan const whole = make_plan(work, {holder_set::nobody(), holder_set({me})});
    shard_views<const_tensor_view> sources;
    sources.add(tensors, all, me);
    auto const targets = shapes_of(written, mine);
    bound_plan const bound{whole, work, sources, targets};
    std::vector<std::byte> buffer;
    put_pieces(
        bound, mine, me, size, writer, [](auto&&...) { return std::uint64_t{1} << 20; },
        [&](std::uint64_t bytes, std::span<piece_part const> parts) {
            return content_from_memory(bound, bytes, parts, buffer);
        },
        [](std::uint64_t) {});
}

/// Agrees on the files of a save that `plan` makes, which differ where a user's function does.
///
/// \par Collective every rank of the group, in the same order
void agree_on_files(group auto const& world, checkpoint_plan const& files, save_options const& how,
                    auto&& plan) {
    std::uint64_t digest = 0;
    local_error const problem = attempt([&] {
        plan();
        if (how.writing.writer)
            digest = digest_of(files.metadata);
    });
    agree_on_digest(world, "files to write, as write_options.writer chooses,", digest, problem);
}

/// \par Collective every rank of the group, in the same order
save_report save_as(group auto const& world, source_tensors have,
                    std::filesystem::path const& target, save_options const& how) {
    agree_to_run(world, "save to " + target.string(), digest_of(how),
                 attempt([&] { have.tensors.check(); }));
    have.layout = replicate_known(world, std::move(have.layout), "source");
    layout const all =
        have.layout ? *have.layout : layout_of_all(world, have.tensors.descriptors());
    check_aliases(world, have.tensors, all, how);
    checkpoint_plan files;
    file_pieces pieces;
    agree_on_files(world, files, how, [&] {
        at_path(target, [&] {
            files = files_to_save(all, how);
            pieces = how.form == save_form::sharded ? pieces_by_rank(files, world.size())
                                                    : pieces_by_holder(files, all, world.size());
        });
    });
    checkpoint_writer writer(world, target, files, how.writing);
    agree_on(world, [&] {
        put_held(writer.files(), pieces, all, have.tensors, static_cast<holder_t>(world.rank()),
                 world.size());
    });
    put_gathered(world, writer.files(), std::move(pieces), all, have.tensors);
    std::string const id = writer.commit(world);
    return {id, data_bytes(files.metadata), writer.reused(),
            gather_values(world, writer.removed()).front()};
}

} // namespace detail

RESHARD_DECL save_report save(solo const& alone, source_tensors have,
                              std::filesystem::path const& target, save_options const& how) {
    return detail::save_as(alone, std::move(have), target, how);
}

RESHARD_DECL save_report save(mpi_group const& world, source_tensors have,
                              std::filesystem::path const& target, save_options const& how) {
    return detail::save_as(world.with_deadline(how.deadline), std::move(have), target, how);
}

} // namespace reshard

namespace reshard::detail {

RESHARD_DECL const_state_dict tensors_to_save(model_state const& state, built_state const& built,
                                              bool is_first) {
    const_state_dict all;
    add_tensors(all, state, built);
    for (held_object const& object : held_objects(state))
        all.add(bytes_tensor(tensor_key(object.cell), object.bytes.size()),
                view_of_bytes(object.bytes));
    for (auto const& [descriptor, tensor] : all)
        if (descriptor.key.starts_with(common_prefix))
            fail(errc::bad_layout, "'", descriptor.key, "': keys that begin with '", common_prefix,
                 "' are those of common values; give it another one");
    for (common_value const& value : common_values(state))
        if (is_first)
            all.add(bytes_tensor(std::string(common_prefix) + std::string(value.name),
                                 value.bytes.size()),
                    view_of_bytes(value.bytes));
    return all;
}

} // namespace reshard::detail

#endif
