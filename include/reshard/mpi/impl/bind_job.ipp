// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_BIND_JOB_IPP
#define RESHARD_MPI_IMPL_BIND_JOB_IPP

#include <reshard/mpi/bind_job.hpp>

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/exchange.hpp>
#include <reshard/mpi/node_reach.hpp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/mpi/plan_sides.hpp>
#include <reshard/tensor/join_neighbours.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
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

/// The most bytes of chunks: those that pass through rings fit their slots.
///
/// \param relayed the least that any rank can pass on
inline chunk_limits limits_of(mpi_job const& all, mpi_group const& ranks, index_t relayed) {
    index_t const far = std::min(chunk_bytes, static_cast<index_t>(ranks.count_limit()));
    if (!all.rings)
        return {far, far, std::min(far, relayed), {}};
    return {far, static_cast<index_t>(all.rings->slot_bytes()), std::min(far, relayed),
            all.rings->node().numbers};
}

/// The most bytes of a chunk that this rank passes on, or gets from who does: a slot, where any
/// goes through a ring.
inline index_t relayed_limit(mpi_job const& all, sorted_transfers const& sorted) {
    auto const is_near = [&](relay_transfers const& one) {
        return std::ranges::binary_search(all.rings->node().numbers, one.peer);
    };
    bool const is_a_slot = all.rings && (std::ranges::any_of(sorted.relays_to, is_near) ||
                                         std::ranges::any_of(sorted.relays_from, is_near));
    return is_a_slot ? static_cast<index_t>(all.rings->slot_bytes()) : chunk_bytes;
}

/// Takes the lanes of a peer out of all.
inline std::vector<lane> take_lanes(std::vector<lane>& all, int peer) {
    auto const taken =
        std::ranges::stable_partition(all, [&](lane const& one) { return one.peer != peer; });
    std::vector<lane> lanes(std::move_iterator(taken.begin()), std::move_iterator(taken.end()));
    all.erase(taken.begin(), taken.end());
    return lanes;
}

/// Takes what passes through rings out of the lanes.
inline std::vector<ring_transfers> take_through_rings(node_rings const& rings,
                                                      process_transfers& all) {
    std::vector<ring_transfers> taken;
    auto const& numbers = rings.node().numbers;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        auto to = take_lanes(all.sends, numbers[i]), from = take_lanes(all.receives, numbers[i]);
        if (!to.empty() || !from.empty())
            taken.push_back({std::move(to), std::move(from), rings.sender_to(static_cast<int>(i)),
                             rings.receiver_from(static_cast<int>(i))});
    }
    return taken;
}

/// Makes ready what is left to messages, and what is not. Does not communicate.
///
/// \param transfers what is neither messages nor rings
/// \param without   what the process would give and get if all of it were messages
inline void open(mpi_job& all, mpi_group const& ranks, sorted_transfers sorted,
                 process_transfers transfers, process_cost const& without,
                 chunk_limits const& limits) {
    plan const& whole = all.planned->whole;
    transfers.sends = rotated_lanes(whole, sorted.to, sorted.relays_to, {ranks.rank(), 1, limits});
    transfers.receives =
        rotated_lanes(whole, sorted.from, sorted.relays_from, {ranks.rank(), -1, limits});
    transfers.relayed = link_relays(whole, transfers.sends, transfers.receives);
    if (all.rings)
        transfers.through_rings = take_through_rings(*all.rings, transfers);
    leave_out(sorted, limits.node);
    all.cost = cost_of(whole, sorted);
    all.cost.bytes_node_in = without.bytes_in - all.cost.bytes_in;
    all.cost.bytes_node_out = without.bytes_out - all.cost.bytes_out;
    all.cost.bytes_relayed = without.bytes_relayed;
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
    open(*all, ranks, std::move(sorted), {}, all_messages, limits_of(*all, ranks, chunk_bytes));
    return all;
}

/// True for the first job of this process that writes to an arena whose memory others see.
inline bool is_first_use(shared_arena const* arena) {
    return arena && arena->is_shared() && arena->state()->segments->is_first_use();
}

RESHARD_DECL std::unique_ptr<job_state> bind_job(mpi_group const& ranks, known_plan const& plan,
                                                 source_tensors const& have,
                                                 target_tensors const& want, options const& how) {
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
    all->rings = rings_for(ranks, bytes_by_peer(all->planned->whole, sorted), how.on_node);
    index_t relayed = relayed_limit(*all, sorted);
    if (how.relays)
        relayed = std::ranges::min(gather_values(ranks, relayed));
    agree_on(ranks, [&] {
        if (is_first_use(want.arena))
            prefault(writes_of(all->bound(), *all->arenas.target, transfers.on_node, sorted.local));
        open(*all, ranks, std::move(sorted), std::move(transfers), all_messages,
             limits_of(*all, ranks, relayed));
    });
    return all;
}

} // namespace reshard::detail

#endif
