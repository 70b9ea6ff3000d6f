// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_BIND_JOB_IPP
#define RESHARD_MPI_IMPL_BIND_JOB_IPP

#include <reshard/bind/job.hpp>
#include <reshard/bind/job_state.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/exchange.hpp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/mpi/node_transfers.hpp>
#include <reshard/mpi/plan_sides.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace reshard::detail {

/// A job over a communicator. It decides how each transfer moves.
class mpi_job final : public bound_job {
public:
    using bound_job::bound_job;

    void run() override {
        if (scales)
            scales->fetch();
        moving->run();
    }
    index_t staging_bytes() const override { return moving->staging_bytes(); }

    side_arenas arenas;
    detail::arena_steps const* arena_steps = nullptr; ///< null without arenas
    std::shared_ptr<node_rings const> rings;
    std::optional<exchange> moving;
};

/// The most bytes of a chunk, for each way that it can take. A chunk that passes through a ring
/// fits a slot.
///
/// \param relayed the least `relayed_limit` of any rank
inline chunk_limits limits_of(mpi_job const& mpi_job, mpi_group const& ranks, index_t relayed) {
    index_t const far = std::min(chunk_bytes, static_cast<index_t>(ranks.count_limit()));
    if (!mpi_job.rings)
        return {far, far, std::min(far, relayed), {}};
    return {far, static_cast<index_t>(mpi_job.rings->slot_bytes()), std::min(far, relayed),
            mpi_job.rings->node().numbers};
}

/// The most bytes of a chunk of a tree that this rank sends or receives: the bytes of a slot if any
/// such chunk goes through a ring.
inline index_t relayed_limit(mpi_job const& mpi_job, sorted_transfers const& sorted) {
    auto const is_near = [&](relay_transfers const& transfers) {
        vector<int> const& numbers = mpi_job.rings->node().numbers;
        return std::binary_search(numbers.begin(), numbers.end(), transfers.peer);
    };
    bool const is_a_slot =
        mpi_job.rings &&
        (std::any_of(sorted.relays_to.begin(), sorted.relays_to.end(), is_near) ||
         std::any_of(sorted.relays_from.begin(), sorted.relays_from.end(), is_near));
    return is_a_slot ? static_cast<index_t>(mpi_job.rings->slot_bytes()) : chunk_bytes;
}

/// Removes from `all` the lanes of a peer, and returns them.
inline vector<lane> take_lanes(vector<lane>& all, int peer) {
    vector<lane> taken, others;
    for (lane& lane : all)
        (lane.peer == peer ? taken : others).push_back(std::move(lane));
    all = std::move(others);
    return taken;
}

/// Removes from `transfers` the lanes that use rings, and returns them with their rings.
inline vector<ring_transfers> take_through_rings(node_rings const& rings,
                                                 process_transfers& transfers) {
    vector<ring_transfers> taken;
    auto const& numbers = rings.node().numbers;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        auto to = take_lanes(transfers.sends, numbers[i]),
             from = take_lanes(transfers.receives, numbers[i]);
        if (!to.empty() || !from.empty())
            taken.push_back({std::move(to), std::move(from), rings.sender_to(static_cast<int>(i)),
                             rings.receiver_from(static_cast<int>(i)),
                             rings.notice_of(static_cast<int>(i)).process});
    }
    return taken;
}

/// A job, its transfers by peer, and its cost if all transfers were messages.
struct sorted_job {
    std::unique_ptr<mpi_job> all;
    sorted_transfers sorted;
    process_cost all_messages;
    vector<index_t> bytes; ///< by peer
};

/// Prepares the exchange. Does not communicate. A second call replaces the exchange of the first.
///
/// \param transfers the transfers that use neither messages nor rings
inline void open(sorted_job& sorted_job, mpi_group const& ranks, process_transfers transfers,
                 chunk_limits const& limits) {
    mpi_job& mpi_job = *sorted_job.all;
    plan const& plan = mpi_job.planned->whole;
    sorted_transfers sorted = sorted_job.sorted;
    transfers.sends = rotated_lanes(plan, sorted.to, sorted.relays_to, {ranks.rank(), 1, limits});
    transfers.receives =
        rotated_lanes(plan, sorted.from, sorted.relays_from, {ranks.rank(), -1, limits});
    transfers.relayed = link_relays(plan, transfers.sends, transfers.receives);
    if (mpi_job.rings) {
        transfers.through_rings = take_through_rings(*mpi_job.rings, transfers);
        transfers.rings = mpi_job.rings.get();
    }
    leave_out(sorted, limits.node);
    mpi_job.cost = cost_of(plan, sorted);
    mpi_job.cost.bytes_node_in = sorted_job.all_messages.bytes_in - mpi_job.cost.bytes_in;
    mpi_job.cost.bytes_node_out = sorted_job.all_messages.bytes_out - mpi_job.cost.bytes_out;
    mpi_job.cost.bytes_relayed = sorted_job.all_messages.bytes_relayed;
    transfers.local = std::move(sorted.local);
    mpi_job.moving.emplace(ranks, mpi_job.bound(), std::move(transfers));
}

/// Sorts the transfers of a job.
inline sorted_job sorted_of(std::unique_ptr<mpi_job> mpi_job, mpi_group const& ranks) {
    plan const& plan = mpi_job->planned->whole;
    auto sorted = sort_by_peer(plan, ranks.rank(), ranks.size());
    auto const cost = cost_of(plan, sorted);
    auto bytes = bytes_by_peer(plan, sorted);
    return {std::move(mpi_job), std::move(sorted), cost, std::move(bytes)};
}

/// Binds a plan to tensors that move only in messages. Does not communicate.
inline std::unique_ptr<job_state>
bind_messages(mpi_group const& ranks, std::shared_ptr<planned_job const> planned,
              const_state_dict const& have, state_dict const& want, device_list const& devices) {
    sorted_job sorted_job =
        sorted_of(std::make_unique<mpi_job>(std::move(planned), static_cast<holder_t>(ranks.rank()),
                                            have, want, devices),
                  ranks);
    open(sorted_job, ranks, {}, limits_of(*sorted_job.all, ranks, chunk_bytes));
    return std::move(sorted_job.all);
}

/// A rank's report on its job, before the ranks choose between messages and rings.
struct bind_notice {
    std::string problem; ///< as `encode` writes it
    index_t bytes = 0;   ///< the most bytes that it exchanges with one rank

    static constexpr void members(auto& self, auto&& visit) { visit(self.problem, self.bytes); }
};

/// Binds the job to this rank's tensors and sorts its transfers. Does not communicate.
inline sorted_job sort_job(mpi_group const& ranks, known_plan const& plan,
                           std::shared_ptr<shard_scales> scales, source_tensors const& have,
                           target_tensors const& want, device_list const& devices) {
    planned_job const& planned = *plan.planned;
    auto unique = std::make_unique<mpi_job>(
        plan.planned, static_cast<holder_t>(ranks.rank()),
        planned.source_is_joined ? joined_for_plan(have.tensors) : have.tensors,
        planned.target_is_joined ? joined_for_plan(want.tensors) : want.tensors, devices);
    unique->was_kept = plan.was_kept;
    unique->scales = std::move(scales);
    unique->arenas = {have.arena ? have.arena->state() : nullptr,
                      want.arena ? want.arena->state() : nullptr};
    if (any_arena const* const arena = have.arena ? have.arena : want.arena)
        unique->arena_steps = &arena->steps();
    return sorted_of(std::move(unique), ranks);
}

/// The most bytes that any two ranks exchange.
///
/// \par Collective every rank of the group, in the same order
/// \throws error the lowest failing rank's, on every rank
inline index_t agree_on_binding(mpi_group const& ranks, bind_notice const& own_notice) {
    vector<bind_notice> const notices = gather_values(ranks, own_notice);
    throw_first(notices, &bind_notice::problem);
    index_t most = 0;
    for (bind_notice const& notice : notices)
        most = std::max(most, notice.bytes);
    return most;
}

/// True if ranks may pass elements on. Equal on every rank.
inline bool may_relay(ranks_on_nodes const& group, options const& options) {
    return options.between_nodes.has_relays() &&
           nodes_of(options, group.nodes).between_nodes.has_relays();
}

/// Opens a job whose transfers on a node use arenas and rings, if there are any.
///
/// \param most the most bytes that any two ranks exchange
/// \par Collective every rank of the group, in the same order
inline void open_on_nodes(ranks_on_nodes const& group, sorted_job& sorted_job, index_t most,
                          options const& options) {
    mpi_group const& ranks = group.ranks;
    mpi_job& mpi_job = *sorted_job.all;
    process_transfers transfers;
    if (arena_steps const* const arenas = mpi_job.arena_steps) {
        transfers.on_node = arenas->take(ranks, mpi_job.bound(), mpi_job.arenas, sorted_job.sorted);
        transfers.copies_on_node = arenas->copies;
        transfers.meetings = arenas->meetings(mpi_job.arenas);
        sorted_job.bytes = bytes_by_peer(mpi_job.planned->whole, sorted_job.sorted);
        most = largest(gather_values(ranks, largest(sorted_job.bytes)));
    }
    mpi_job.rings = rings_for(group, sorted_job.bytes, most, options.on_node);
    index_t relayed = relayed_limit(mpi_job, sorted_job.sorted);
    if (may_relay(group, options)) {
        vector<index_t> const limits = gather_values(ranks, relayed);
        relayed = *std::min_element(limits.begin(), limits.end());
    }
    agree_on(ranks, [&] {
        if (mpi_job.arenas.target)
            mpi_job.arena_steps->prefault(mpi_job.bound(), *mpi_job.arenas.target,
                                          transfers.on_node, sorted_job.sorted.local);
        open(sorted_job, ranks, std::move(transfers), limits_of(mpi_job, ranks, relayed));
    });
}

/// Binds a plan to its tensors, in any memory. The ranks also agree on errors of the plan.
///
/// \param scales null if the plan does not dequantize
/// \par Collective every rank of the group, in the same order
inline std::unique_ptr<job_state> bind_job(ranks_on_nodes const& group, known_plan const& plan,
                                           std::shared_ptr<shard_scales> scales,
                                           source_tensors const& have, target_tensors const& want,
                                           options const& options) {
    mpi_group const& ranks = group.ranks;
    sorted_job sorted_job;
    bind_notice notice;
    bool is_open = false;
    notice.problem = encode(plan.problem ? plan.problem : attempt([&] {
        sorted_job = sort_job(ranks, plan, std::move(scales), have, want, options.devices);
        notice.bytes = largest(sorted_job.bytes);
        is_open = !have.arena && !want.arena && !may_relay(group, options) &&
                  !rings_are_worth_it(ranks.size(), notice.bytes, options.on_node);
        if (is_open)
            open(sorted_job, ranks, {}, limits_of(*sorted_job.all, ranks, chunk_bytes));
    }));
    index_t const most = agree_on_binding(ranks, notice);
    if (!is_open || rings_are_worth_it(ranks.size(), most, options.on_node))
        open_on_nodes(group, sorted_job, most, options);
    return std::move(sorted_job.all);
}

} // namespace reshard::detail

#endif
