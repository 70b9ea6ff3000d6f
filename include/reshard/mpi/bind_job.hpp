// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_BIND_JOB_HPP
#define RESHARD_MPI_BIND_JOB_HPP

#include <reshard/core/config.hpp>
#include <reshard/mpi/exchange.hpp>
#include <reshard/mpi/node_reach.hpp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/mpi/plan_sides.hpp>

#include <memory>
#include <optional>

/// \file
/// A plan meets the tensors of a process: which transfer goes which way.

namespace reshard::detail {

/// A job over a communicator: which transfer goes which way.
class mpi_job final : public bound_job {
public:
    using bound_job::bound_job;

    void run() override { moving->run(); }
    index_t staging_bytes() const override { return moving->staging_bytes(); }

    side_arenas arenas;
    std::shared_ptr<node_rings const> rings;
    std::optional<exchange> moving;
};

/// Binds a plan to tensors that move in messages alone. Does not communicate.
RESHARD_DECL std::unique_ptr<job_state> bind_messages(mpi_group const& ranks,
                                                      std::shared_ptr<planned_job const> planned,
                                                      const_state_dict const& have,
                                                      state_dict const& want);

/// Binds a plan to its tensors, wherever they lie.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL std::unique_ptr<job_state> bind_job(mpi_group const& ranks, known_plan const& plan,
                                                 source_tensors const& have,
                                                 target_tensors const& want, node_exchange how);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/bind_job.ipp>
#endif

#endif
