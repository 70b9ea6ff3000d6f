// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_BIND_JOB_IPP
#define RESHARD_MPI_IMPL_BIND_JOB_IPP

#include <reshard/mpi/bind_job.hpp>

#include <reshard/bind/check_complete.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/tensor/join_neighbours.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace reshard {

namespace detail {

RESHARD_DECL prepared_state& owned(std::unique_ptr<prepared_state> const& state) {
    if (!state)
        fail(errc::usage,
             "this prepared redistribution has been moved from; use the one that it was "
             "moved to");
    return *state;
}

/// Finds the tensors of the plan. Communicates with nobody.
inline void bind_tensors(prepared_state& all, holder_t me, const_state_dict const& source,
                         state_dict const& target) {
    looked_up const& planned = all.planned;
    all.problem = problem_of(planned.program, planned.source, planned.target);
    all.sources.add(planned.source_is_joined ? join_neighbours(source) : source, planned.source,
                    me);
    check_complete(all.sources, planned.source, me);
    all.targets.add(planned.target_is_joined ? join_neighbours(target) : target, planned.target,
                    me);
    check_complete(all.targets, planned.target, me);
}

inline bound_plan bound_plan_of(prepared_state const& all) {
    return {all.planned.whole, all.problem, all.sources, all.targets};
}

/// Lets ranks of a node make transfers whose ends lie in arenas, and takes them out of `sorted`.
///
/// \par Collective every rank of the group, in the same order
inline std::vector<node_transfer> take_on_node(mpi_group const& ranks, prepared_state const& all,
                                               sorted_transfers& sorted) {
    bound_plan const bound = bound_plan_of(all);
    node_reach const reach(bound, all.arenas, ranks);
    std::vector<addressed_text> texts;
    agree_on(ranks, [&] { texts = reach.tell(sorted); });
    auto const told = sparse_exchange(ranks).run(texts);
    std::vector<node_transfer> taken;
    agree_on(ranks, [&] { taken = reach.take(sorted, told); });
    return taken;
}

/// Takes what passes through rings out of `sorted`.
inline std::vector<ring_transfers> take_through_rings(prepared_state const& all, int me,
                                                      sorted_transfers& sorted) {
    std::vector<ring_transfers> taken;
    if (!all.rings)
        return taken;
    plan const& whole = all.planned.whole;
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

RESHARD_DECL void open(prepared_state& all, mpi_group const& ranks, sorted_transfers sorted,
                       process_transfers transfers, process_cost const& without) {
    plan const& whole = all.planned.whole;
    transfers.through_rings = take_through_rings(all, ranks.rank(), sorted);
    all.cost = cost_of(whole, sorted);
    all.cost.bytes_node_in = without.bytes_in - all.cost.bytes_in;
    all.cost.bytes_node_out = without.bytes_out - all.cost.bytes_out;
    index_t const limit = std::min(chunk_bytes, static_cast<index_t>(ranks.count_limit()));
    transfers.sends = rotated_lanes(whole, sorted.to, {ranks.rank(), 1, limit});
    transfers.receives = rotated_lanes(whole, sorted.from, {ranks.rank(), -1, limit});
    transfers.local = std::move(sorted.local);
    all.moving.emplace(ranks.base(), bound_plan_of(all), std::move(transfers));
}

RESHARD_DECL void bind(prepared_state& all, mpi_group const& ranks, const_state_dict const& source,
                       state_dict const& target) {
    bind_tensors(all, static_cast<holder_t>(ranks.rank()), source, target);
    auto sorted = sort_by_peer(all.planned.whole, ranks.rank(), ranks.size());
    process_cost const all_messages = cost_of(all.planned.whole, sorted);
    open(all, ranks, std::move(sorted), {}, all_messages);
}

RESHARD_DECL void bind_job(mpi_group const& ranks, prepared_state& all,
                           laid_out<const_tensor_view> const& source,
                           laid_out<tensor_view> const& target, node_exchange how) {
    sorted_transfers sorted;
    process_cost all_messages;
    agree_on(ranks, [&] {
        bind_tensors(all, static_cast<holder_t>(ranks.rank()), source.held, target.held);
        sorted = sort_by_peer(all.planned.whole, ranks.rank(), ranks.size());
        all_messages = cost_of(all.planned.whole, sorted);
    });
    process_transfers transfers;
    if (source.arena || target.arena) {
        all.arenas = {source.arena ? source.arena->state() : nullptr,
                      target.arena ? target.arena->state() : nullptr};
        transfers.on_node = take_on_node(ranks, all, sorted);
        transfers.meetings = meetings_of(all.arenas);
    }
    all.rings = rings_for(ranks, bytes_by_peer(all.planned.whole, sorted), how);
    agree_on(ranks,
             [&] { open(all, ranks, std::move(sorted), std::move(transfers), all_messages); });
}

} // namespace detail

} // namespace reshard

#endif
