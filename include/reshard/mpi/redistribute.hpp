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

/// Binds a plan that was made before its ranks met.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare` of a typed plan
RESHARD_DECL job prepare_made(mpi_group const& world, plan_maker const& plan, source_tensors have,
                              target_tensors want);

} // namespace detail

/// Plans the filling of `want` from `have` and binds it to their memory; `run` moves the bytes.
///
/// Each rank gives the shards that it holds; ranks may hold different keys, several shards of a
/// key, or none. If a rank knows the layout of a side, it gives the layout too. Then the ranks
/// compare only a digest of it and send no shards of that side. Tensors that the program only adds
/// (`_ -> key` in AOA) keep their content. A `boost::mpi::communicator` is a group too. If tensors
/// of a side lie in an arena, all ranks give their arenas, made by the same group, and ranks of a
/// node copy without messages.
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
/// Before anything moves, source tensors that the program calls copies are compared.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare`, and with errc::overlap if copies differ; and the errors of the
///         functions of `rounds` on any rank
RESHARD_DECL void redistribute(mpi_group const& world, source_tensors have, target_tensors want,
                               options const& options = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/redistribute.ipp>
#endif

#endif
