// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_SAVE_IPP
#define RESHARD_STORAGE_IMPL_SAVE_IPP

#include <reshard/storage/save.hpp>

#include <reshard/bind/redistribute.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/checkpoint_writer.hpp>

#include <optional>
#include <string>
#include <utility>

namespace reshard {

namespace detail {

inline checkpoint_plan files_to_save(layout const& all, save_options const& how) {
    return files_for(identity_mapping(catalog_of(all)),
                     how.form == save_form::sharded ? std::optional(all) : std::nullopt,
                     how.writing);
}

/// \par Collective every rank of the group, in the same order
void save_as(group auto const& world, source_tensors have, std::filesystem::path const& target,
             save_options const& how) {
    agree_to_run(world, "save to " + target.string(), digest_of(how),
                 attempt([&] { have.tensors.check(); }));
    have.layout = replicate_known(world, std::move(have.layout), "source");
    layout const all =
        have.layout ? *have.layout : layout_of_all(world, have.tensors.descriptors());
    checkpoint_plan files;
    agree_on(world, [&] { at_path(target, [&] { files = files_to_save(all, how); }); });
    checkpoint_writer writer(world, target, files, how.writing.replace);
    state_dict filled;
    agree_on(world, [&] { filled = writer.tensors(); });
    redistribute(world, std::move(have), std::move(filled));
    writer.commit(world);
}

} // namespace detail

RESHARD_DECL void save(solo const& alone, source_tensors have, std::filesystem::path const& target,
                       save_options const& how) {
    detail::save_as(alone, std::move(have), target, how);
}

RESHARD_DECL void save(mpi_group const& world, source_tensors have,
                       std::filesystem::path const& target, save_options const& how) {
    detail::save_as(world.with_deadline(how.deadline), std::move(have), target, how);
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
