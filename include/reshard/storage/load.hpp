// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_LOAD_HPP
#define RESHARD_STORAGE_LOAD_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/bind/overlap.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/fit_shapes.hpp>
#include <reshard/mpi/gather_layouts.hpp>
#include <reshard/storage/at_path.hpp>
#include <reshard/storage/replicas.hpp>
#include <reshard/storage/strict_keys.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// \file
/// From a checkpoint into tensors.

namespace reshard {

/// What a load may be told.
struct load_options {
    /// What is done about keys that only one side has. Nothing: a tensor that the checkpoint does
    /// not have is an error, and what is not wanted is skipped.
    std::optional<strictness> strict = {};
    /// Patterns of keys whose shapes may differ from the checkpoint's (see `fit_shapes`): they are
    /// cropped, or extended with zeros.
    std::vector<std::string> allow_shape_mismatch = {};
};

namespace detail {

RESHARD_DECL mapping by_name(checkpoint const& source, layout const& target);

/// How to load: `program` is null for the tensors of the same names.
struct load_call {
    mapping const* program;
    load_options const& options;
};

RESHARD_DECL std::uint64_t digest_of_load(checkpoint const& source, load_call const& how);

/// What one process of a load knows before it reads.
struct load_plan {
    mapping program;
    layout wanted;
    plan_problem problem;
    plan whole;
    shard_views<tensor_view> targets;
};

/// The program of a load, in which tensors that the verdict leaves out keep their content.
RESHARD_DECL mapping program_for(checkpoint const& source, layout const& wanted,
                                 load_call const& how, strict_verdict const& verdict);

/// Plans what this process reads.
///
/// \pre `work.program` and `work.wanted` are there, and `work` stays where it is
RESHARD_DECL void plan_load(load_plan& work, checkpoint const& source, state_dict const& target,
                            holder_t me);

template <group Group>
strict_verdict load_as(Group const& world, checkpoint const& source, state_dict const& target,
                       load_call const& how) {
    std::filesystem::path const& path = source.metadata().path;
    agree_to_run(world, "load " + path.string(), digest_of_load(source, how), attempt([&] {
                     reshard::check_memory({}, {&target, 1});
                 }));
    load_plan work;
    strict_verdict verdict;
    work.wanted = layout_of_all(world, target.descriptors());
    agree_on(world, [&] {
        at_path(path, [&] {
            if (how.options.strict)
                verdict = judge_keys(*how.options.strict, work.wanted,
                                     how.program ? keys_of(*how.program)
                                                 : keys_of(source.files_layout()));
            work.program = fit_shapes(program_for(source, work.wanted, how, verdict), work.wanted,
                                      how.options.allow_shape_mismatch);
            plan_load(work, source, target, static_cast<holder_t>(world.rank()));
        });
    });
    check_replicas(world, source, tensors_used(work.problem, source.files_layout()));
    agree_on(world, [&] {
        for (transfer const& transfer : work.whole.transfers)
            run_locally({work.whole, work.problem, source.views(), work.targets}, transfer);
    });
    return verdict;
}

} // namespace detail

/// Fills the tensors of `target` from a checkpoint, as `program` says; each rank gives what it
/// holds.
///
/// Each rank reads the bytes that its shards need, and shares in comparing the replicas of the
/// tensors that are used. Tensors that the program only adds keep their content, and so do those
/// that `options.strict` leaves out; the result says which, and what else the mode wants to be
/// said.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike, before anything is written: as `layout_of`, `problem_of` and
///         `make_plan`, beginning with the checkpoint's path; errc::overlap for replicas that
///         differ, errc::memory_overlap for tensors that share memory, errc::unknown_key where
///         `options.strict` says so, or errc::ranks_disagree
template <group Group>
strict_verdict load(Group const& world, checkpoint const& source, state_dict const& target,
                    mapping const& program, load_options const& options = {}) {
    return detail::load_as(world, source, target, {&program, options});
}

/// Fills the tensors of `target` from those of the same names in a checkpoint.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as above, and errc::unknown_key for a key that the checkpoint does not have
template <group Group>
strict_verdict load(Group const& world, checkpoint const& source, state_dict const& target,
                    load_options const& options = {}) {
    return detail::load_as(world, source, target, {nullptr, options});
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/load.ipp>
#endif

#endif
