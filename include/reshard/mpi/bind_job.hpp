// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_BIND_JOB_HPP
#define RESHARD_MPI_BIND_JOB_HPP

#include <reshard/core/config.hpp>
#include <reshard/mpi/exchange.hpp>
#include <reshard/mpi/laid_out.hpp>
#include <reshard/mpi/look_up.hpp>
#include <reshard/mpi/node_reach.hpp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/mpi/sorted_transfers.hpp>

#include <memory>
#include <optional>

/// \file
/// A plan meets the tensors of a process: which transfer goes which way.

namespace reshard::detail {

/// All that a prepared redistribution owns; the parts refer to one another, so it never moves.
struct prepared_state {
    looked_up planned;
    plan_problem problem;
    shard_views<const_tensor_view> sources;
    shard_views<tensor_view> targets;
    side_arenas arenas;
    std::shared_ptr<node_rings const> rings;
    process_cost cost;
    std::optional<exchange> moving;
};

/// What a prepared redistribution owns.
///
/// \throws error with errc::usage for one that was moved from
RESHARD_DECL prepared_state& owned(std::unique_ptr<prepared_state> const& state);

/// Makes ready what is left to messages, and what is not. Does not communicate.
///
/// \param transfers what is neither messages nor rings
/// \param without what the process would give and get if all of it were messages
RESHARD_DECL void open(prepared_state& all, mpi_group const& ranks, sorted_transfers sorted,
                       process_transfers transfers, process_cost const& without);

/// Binds a plan to tensors that move in messages alone. Does not communicate.
RESHARD_DECL void bind(prepared_state& all, mpi_group const& ranks, const_state_dict const& source,
                       state_dict const& target);

/// Binds a plan of a job to its tensors, wherever they lie.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL void bind_job(mpi_group const& ranks, prepared_state& all,
                           laid_out<const_tensor_view> const& source,
                           laid_out<tensor_view> const& target, node_exchange how);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/bind_job.ipp>
#endif

#endif
