// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_BIND_JOB_IPP
#define RESHARD_MPI_IMPL_BIND_JOB_IPP

#include <reshard/mpi/bind_job.hpp>

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/mpi/exchange.hpp>
#include <reshard/mpi/node_reach.hpp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/mpi/plan_sides.hpp>
#include <reshard/tensor/join_neighbours.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

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

/// Takes what passes through rings out of `sorted`.
inline std::vector<ring_transfers> take_through_rings(mpi_job const& all, int me,
                                                      sorted_transfers& sorted) {
    std::vector<ring_transfers> taken;
    if (!all.rings)
        return taken;
    plan const& whole = all.planned->whole;
    auto const limit = static_cast<index_t>(all.rings->slot_bytes());
    auto const& numbers = all.rings->node().numbers;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        auto const peer = static_cast<std::size_t>(numbers[i]);
        auto& to = sorted.to[peer];
        auto& from = sorted.from[peer];
        if (numbers[i] == me || (to.empty() && from.empty()))
            continue;
        taken.push_back({{numbers[i], chunks_of(whole, std::exchange(to, {}), limit)},
                         {numbers[i], chunks_of(whole, std::exchange(from, {}), limit)},
                         all.rings->sender_to(static_cast<int>(i)),
                         all.rings->receiver_from(static_cast<int>(i))});
    }
    return taken;
}

/// Makes ready what is left to messages, and what is not. Does not communicate.
///
/// \param transfers what is neither messages nor rings
/// \param without   what the process would give and get if all of it were messages
inline void open(mpi_job& all, mpi_group const& ranks, sorted_transfers sorted,
                 process_transfers transfers, process_cost const& without) {
    plan const& whole = all.planned->whole;
    transfers.through_rings = take_through_rings(all, ranks.rank(), sorted);
    all.cost = cost_of(whole, sorted);
    all.cost.bytes_node_in = without.bytes_in - all.cost.bytes_in;
    all.cost.bytes_node_out = without.bytes_out - all.cost.bytes_out;
    index_t const limit = std::min(chunk_bytes, static_cast<index_t>(ranks.count_limit()));
    transfers.sends = rotated_lanes(whole, sorted.to, sorted.relays_to, {ranks.rank(), 1, limit});
    transfers.receives =
        rotated_lanes(whole, sorted.from, sorted.relays_from, {ranks.rank(), -1, limit});
    transfers.relayed = link_relays(whole, transfers.sends, transfers.receives);
    transfers.local = std::move(sorted.local);
    all.moving.emplace(ranks, all.bound(), std::move(transfers));
}

RESHARD_DECL std::unique_ptr<job_state> bind_messages(mpi_group const& ranks,
                                                      std::shared_ptr<planned_job const> planned,
                                                      const_state_dict const& have,
                                                      state_dict const& want) {
    auto all = std::make_unique<mpi_job>(std::move(planned), static_cast<holder_t>(ranks.rank()),
                                         have, want);
    auto sorted = sort_by_peer(all->planned->whole, ranks.rank(), ranks.size());
    process_cost const all_messages = cost_of(all->planned->whole, sorted);
    open(*all, ranks, std::move(sorted), {}, all_messages);
    return all;
}

/// True for the first job of this process that writes to an arena whose memory others see.
inline bool is_first_use(shared_arena const* arena) {
    return arena && arena->is_shared() && arena->state()->segments->is_first_use();
}

RESHARD_DECL std::unique_ptr<job_state> bind_job(mpi_group const& ranks, known_plan const& plan,
                                                 source_tensors const& have,
                                                 target_tensors const& want, node_exchange how) {
    std::unique_ptr<mpi_job> all;
    sorted_transfers sorted;
    process_cost all_messages;
    agree_on(ranks, [&] {
        planned_job const& planned = *plan.planned;
        all = std::make_unique<mpi_job>(
            plan.planned, static_cast<holder_t>(ranks.rank()),
            planned.source_is_joined ? join_neighbours(have.tensors) : have.tensors,
            planned.target_is_joined ? join_neighbours(want.tensors) : want.tensors);
        all->was_kept = plan.was_kept;
        sorted = sort_by_peer(planned.whole, ranks.rank(), ranks.size());
        all_messages = cost_of(planned.whole, sorted);
    });
    process_transfers transfers;
    if (have.arena || want.arena) {
        all->arenas = {have.arena ? have.arena->state() : nullptr,
                       want.arena ? want.arena->state() : nullptr};
        transfers.on_node = take_on_node(ranks, all->bound(), all->arenas, sorted);
        transfers.meetings = meetings_of(all->arenas);
    }
    all->rings = rings_for(ranks, bytes_by_peer(all->planned->whole, sorted), how);
    agree_on(ranks, [&] {
        if (is_first_use(want.arena))
            prefault(writes_of(all->bound(), *all->arenas.target, transfers.on_node, sorted.local));
        open(*all, ranks, std::move(sorted), std::move(transfers), all_messages);
    });
    return all;
}

} // namespace reshard::detail

#endif
