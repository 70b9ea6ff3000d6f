// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_RINGS_HPP
#define RESHARD_MPI_NODE_RINGS_HPP

#include <reshard/group/agree.hpp>
#include <reshard/mpi/node_ranks.hpp>
#include <reshard/mpi/node_segments.hpp>
#include <reshard/os/slot_ring.hpp>
#include <reshard/os/yielding_barrier.hpp>
#include <reshard/plan/options.hpp>

#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/mpi/operations.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

/// \file
/// Rings between all ranks of a node.

namespace reshard {

/// A ring for each pair of ranks of a node and each direction, in memory of the rank that fills it.
class node_rings {
public:
    /// The memory that a rank gives for its rings.
    static constexpr index_t budget_bytes = index_t{4} << 20;

    /// Slots for more would be too small to be worth passing.
    static constexpr std::size_t most_ranks = 65;

    /// Enough for one to be filled while one is emptied, and for a rank that lost its core.
    static constexpr int slots_each = 4;

    /// \par Collective every rank of the node, in the same order
    /// \throws error with errc::io, on every rank of the node alike, where one is refused something
    node_rings(node_ranks const& node, segment_request const& wanted)
        : node_(node),
          segments_(node.group, bytes_for(static_cast<int>(node.numbers.size())), wanted) {
        for (int peer = 0; peer < size(); ++peer)
            new (state_at(node_.group.rank(), peer)) ring_state;
        agree(node_.group, std::nullopt); // before others use them
    }

    /// The most bytes of a chunk on a node of so many ranks.
    static std::size_t slot_bytes_for(int ranks) {
        index_t const share = budget_bytes / (std::max(1, ranks - 1) * slots_each);
        return static_cast<std::size_t>(
            std::clamp<index_t>(share / 4096 * 4096, 16 << 10, 128 << 10));
    }

    /// The same on this node.
    std::size_t slot_bytes() const { return slot_bytes_for(size()); }

    /// The ranks of the node, and where they wait for one another.
    node_ranks const& node() const { return node_; }
    yielding_barrier meeting() const {
        return {segments_.barrier(), static_cast<std::uint32_t>(size())};
    }

    /// \pre called once for each other rank of the node, by its number there; here and below
    ring_sender sender_to(int peer) const {
        return {state_of(node_.group.rank(), peer), slots_of(node_.group.rank(), peer)};
    }
    ring_receiver receiver_from(int peer) const {
        return {state_of(peer, node_.group.rank()), slots_of(peer, node_.group.rank())};
    }

private:
    /// All states, then all slots.
    static index_t states_bytes(int ranks) {
        return (index_t{ranks} * static_cast<index_t>(sizeof(ring_state)) + 4095) / 4096 * 4096;
    }
    static index_t bytes_for(int ranks) {
        return states_bytes(ranks) +
               index_t{ranks} * slots_each * static_cast<index_t>(slot_bytes_for(ranks));
    }

    int size() const { return static_cast<int>(node_.numbers.size()); }

    std::byte* state_at(int from, int to) const {
        return segments_.data(from) + static_cast<std::size_t>(to) * sizeof(ring_state);
    }
    ring_state& state_of(int from, int to) const {
        return *std::launder(reinterpret_cast<ring_state*>(state_at(from, to)));
    }
    ring_slots slots_of(int from, int to) const {
        auto const each = static_cast<std::size_t>(slots_each) * slot_bytes();
        return {segments_.data(from) + states_bytes(size()) + static_cast<std::size_t>(to) * each,
                slot_bytes(), slots_each};
    }

    node_ranks node_;
    node_segments segments_;
};

namespace detail {

/// Rings, or null where a rank of the node is alone or is refused shared memory.
///
/// \par Collective every rank of the node, in the same order
inline std::shared_ptr<node_rings const> make_rings(node_ranks const& node,
                                                    system_calls const& calls = {}) {
    std::string refusal; // messages do as well
    return with_segments(node.group, refusal, [&](segment_kind kind) {
        return std::make_shared<node_rings const>(node, segment_request{kind, {}, calls});
    });
}

/// The rings through which a redistribution passes what ranks of a node have in memory of their own; null
/// where it passes messages: where there is little to pass, or more ranks than rings are for.
///
/// \param bytes what this rank and each other one give one another, the larger of both ways
/// \par Collective every rank of the group, in the same order
/// \throws error as `agreed_node_of`
inline std::shared_ptr<node_rings const>
rings_for(mpi_group const& ranks, std::vector<index_t> const& bytes, node_exchange how) {
    constexpr index_t worth_it = index_t{1} << 20;
    if (how == node_exchange::messages || ranks.size() == 1)
        return nullptr;
    index_t const most = *std::max_element(bytes.begin(), bytes.end());
    if (how == node_exchange::chosen &&
        boost::mpi::all_reduce(ranks.base(), most, boost::mpi::maximum<index_t>()) <
            worth_it / ranks.size())
        return nullptr;
    node_ranks const node = agreed_node_of(ranks);
    index_t on_node = 0;
    for (int const rank : node.numbers)
        on_node += bytes[static_cast<std::size_t>(rank)];
    bool const is_little = boost::mpi::all_reduce(node.group.base(), on_node,
                                                  boost::mpi::maximum<index_t>()) < worth_it;
    if ((how == node_exchange::chosen && is_little) || node.numbers.size() > node_rings::most_ranks)
        return nullptr;
    return make_rings(node);
}

} // namespace detail

} // namespace reshard

#endif
