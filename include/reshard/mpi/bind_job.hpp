// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_BIND_JOB_HPP
#define RESHARD_MPI_BIND_JOB_HPP

#include <reshard/bind/job.hpp>
#include <reshard/core/config.hpp>

#include <memory>

/// \file
/// Binds a plan to the tensors of a process, and decides how each transfer moves.

namespace reshard {

class mpi_group;
struct options;

namespace detail {

struct known_plan;
struct planned_job;
struct ranks_on_nodes;

/// Binds a plan to tensors that move only in messages. Does not communicate.
RESHARD_DECL std::unique_ptr<job_state> bind_messages(mpi_group const& ranks,
                                                      std::shared_ptr<planned_job const> planned,
                                                      const_state_dict const& have,
                                                      state_dict const& want);

/// Binds a plan to its tensors, in any memory. The ranks agree on errors of the plan, too.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL std::unique_ptr<job_state> bind_job(ranks_on_nodes const& group,
                                                 known_plan const& plan, source_tensors const& have,
                                                 target_tensors const& want,
                                                 options const& options);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/bind_job.ipp>
#endif

#endif
