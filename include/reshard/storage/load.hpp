// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_LOAD_HPP
#define RESHARD_STORAGE_LOAD_HPP

#include <reshard/bind/job.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/storage/checkpoint.hpp>

/// \file
/// From a checkpoint into tensors.

namespace reshard {

/// Fills the tensors of `want` from a checkpoint: by name, or as `how.program` says; each rank
/// gives what it holds.
///
/// Each rank reads the bytes that its shards need, and shares in comparing the replicas of the
/// tensors that are used. Tensors that the program only adds keep their content, and so do those
/// that `how.strict` leaves out; the result says which, and what else the mode wants to be said.
/// Of the options, `program`, `strict` and `shape_mismatch` apply; a function gets the catalogs of
/// the checkpoint and of what all ranks want.
///
/// \throws error before anything is written: as `layout_of`, `problem_of` and `make_plan`,
///         beginning with the checkpoint's path; errc::overlap for replicas that differ,
///         errc::memory_overlap for tensors that share memory, errc::unknown_key for a key that the
///         checkpoint does not have or where `how.strict` says so; errc::usage for options that do
///         not apply
RESHARD_DECL strict_verdict load(solo const& alone, checkpoint const& source, target_tensors want,
                                 options const& how = {});

/// The same over a communicator.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as above, on every rank alike; errc::ranks_disagree
RESHARD_DECL strict_verdict load(mpi_group const& world, checkpoint const& source,
                                 target_tensors want, options const& how = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/load.ipp>
#endif

#endif
