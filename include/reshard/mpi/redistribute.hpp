// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_REDISTRIBUTE_HPP
#define RESHARD_MPI_REDISTRIBUTE_HPP

#include <reshard/bind/job.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/mpi/mpi_group.hpp>

/// \file
/// The façade: redistributes tensors from one layout to another over a communicator.

namespace reshard {

namespace detail {

struct plan_maker;

/// Binds a plan that `plan` makes on each rank without communication.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare` of a typed plan
RESHARD_DECL job prepare_made(mpi_group const& world, plan_maker const& plan, source_tensors have,
                              target_tensors want, device_list const& devices);

} // namespace detail

/// Plans how to fill `want` from `have`, and binds the plan to their memory; `run` moves the bytes.
///
/// Each rank gives the shards that it holds; ranks may hold different keys, several shards of a
/// key, or none. If a rank knows the layout of a side, it gives the layout too. Then the ranks
/// compare only a digest of it and send no shards of that side. Tensors that the program only adds
/// (`_ -> key` in AOA) keep their content. `world` may be a `boost::mpi::communicator`, too. If
/// tensors of a side lie in an arena, every rank gives its arena, made over the same group; then
/// ranks of a node copy without messages.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank, before anything is written: an error from adding a tensor or from
///         the program; as `layout_of`, `problem_of` and `make_plan`; errc::ranks_disagree for
///         different programs, options or layouts; errc::bad_layout if a rank holds more or less
///         than the layout says; errc::memory_overlap if a target shares memory with another
///         tensor; errc::usage for an arena of other ranks, a bad RESHARD_RANKS_PER_NODE, or
///         options that contradict each other; errc::limit_exceeded if a round needs more than the
///         budget, as `rounds_of`
RESHARD_DECL job prepare(mpi_group const& world, source_tensors have, target_tensors want,
                         options const& options = {});

/// Fills the tensors of `want` from the tensors of `have`: by name, or as `options.program` says.
/// If the program declares that source tensors are copies of each other, they are compared before
/// anything moves.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare`; errc::overlap if copies differ; and any rank's errors of the
///         functions that `rounds` was given
RESHARD_DECL void redistribute(mpi_group const& world, source_tensors have, target_tensors want,
                               options const& options = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/redistribute.ipp>
#endif

#endif
