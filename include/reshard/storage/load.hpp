// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_LOAD_HPP
#define RESHARD_STORAGE_LOAD_HPP

#include <reshard/expr/digest.hpp>
#include <reshard/local.hpp>
#include <reshard/mpi/gather_layouts.hpp>
#include <reshard/storage/checkpoint.hpp>

/// \file
/// From a checkpoint into tensors.

namespace reshard {

namespace detail {

inline mapping by_name(checkpoint const& source, layout const& target) {
    catalog const wanted = catalog_of(target);
    return identity_mapping(catalog_of(source), &wanted);
}

/// Fills this process's tensors; the program and both layouts are known.
template <group Group>
void load_mine(Group const& world, checkpoint const& source, state_dict const& target,
               layout const& wanted, mapping const& program) {
    plan_problem work = problem_of(program, source.files_layout(), wanted);
    work.source_names = &source.file_names();
    auto const me = static_cast<holder_t>(world.rank());
    plan const whole =
        make_plan(work, {holder_set::nobody(), holder_set({me})}, {.shared_sources = true});
    shard_views<tensor_view> targets;
    targets.add(target, wanted, me);
    for (transfer const& part : whole.transfers)
        run_locally({whole, work, source.views(), targets}, part);
}

} // namespace detail

/// Fills the tensors of `target` from a checkpoint, as `program` says; each rank gives what it holds.
///
/// Each rank reads the bytes that its shards need, and no others. Tensors that the program only adds
/// keep their content.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike: as `layout_of`, `problem_of` and `make_plan`, with
///         errc::overlap for copies in the checkpoint that differ, or errc::ranks_disagree
template <group Group>
void load(Group const& world, checkpoint const& source, state_dict const& target,
          mapping const& program) {
    agree_to_run(world, "load " + source.metadata().path.string(), digest_of(program), attempt([&] {
                     check_memory({}, {&target, 1});
                 }));
    layout const wanted = gather_layout(world, target);
    check_replicas(world, source);
    agree_on(world, [&] { detail::load_mine(world, source, target, wanted, program); });
}

/// Fills the tensors of `target` from those of the same names in a checkpoint.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as above, and errc::unknown_key for a key that the checkpoint does not have
template <group Group>
void load(Group const& world, checkpoint const& source, state_dict const& target) {
    layout const wanted = gather_layout(world, target);
    load(world, source, target, detail::by_name(source, wanted));
}

} // namespace reshard

#endif
