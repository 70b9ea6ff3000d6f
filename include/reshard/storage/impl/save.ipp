// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_SAVE_IPP
#define RESHARD_STORAGE_IMPL_SAVE_IPP

#include <reshard/storage/save.hpp>

#include <reshard/bind/redistribute.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/group/replicate_layout.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/at_path.hpp>
#include <reshard/storage/checkpoint_writer.hpp>

#include <optional>
#include <utility>

namespace reshard {

namespace detail {

inline checkpoint_plan files_to_save(layout const& all, save_options const& how) {
    return files_for(identity_mapping(catalog_of(all)),
                     how.form == save_form::sharded ? std::optional(all) : std::nullopt,
                     how.writing);
}

/// \par Collective every rank of the group, in the same order
template <group Group>
void save_as(Group const& world, source_tensors have, std::filesystem::path const& target,
             save_options const& how) {
    agree_to_run(world, "save to " + target.string(), digest_of(how),
                 attempt([&] { have.tensors.check(); }));
    have.layout = replicate_known(world, std::move(have.layout), "source");
    layout const all =
        have.layout ? layout_of(*have.layout) : layout_of_all(world, have.tensors.descriptors());
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
    detail::save_as(world, std::move(have), target, how);
}

} // namespace reshard

#endif
