// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_NETWORK_HPP
#define RESHARD_PLAN_NETWORK_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/members.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/holder.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

/// \file
/// The network over which bytes travel (memory of ranks and nodes, links of nodes, racks), and the
/// flows of bytes.

namespace reshard {

/// How fast bytes move between processes.
///
/// Process `p` runs on node `p / ranks_per_node`, which is in rack `node / rack.nodes`. All members
/// have defaults: a server of eight ranks, and a link of 200 Gbit/s in each direction.
///
/// \par Units arriving bytes per second, and seconds
struct network {
    /// The speed of memory or of a link. If one bandwidth is 0, only the other one is a limit.
    struct speed {
        double rank_bytes_per_second = 0; ///< the rate of one rank if all others are idle
        double node_bytes_per_second = 0; ///< the rate of all ranks of a node together
        double latency_seconds = 0;       ///< before the first byte arrives
        double run_seconds = 0;           ///< extra time of a rank per contiguous run; 0 for `link`

        static constexpr void members(auto& self, auto&& visit) {
            visit(self.rank_bytes_per_second, self.node_bytes_per_second, self.latency_seconds,
                  self.run_seconds);
        }

        constexpr bool operator==(speed const&) const = default;
    };

    /// The link that the nodes of a rack share to reach other racks.
    struct up_link {
        holder_t nodes = 0;          ///< nodes in a rack; 0: no racks
        double bytes_per_second = 0; ///< greater than 0 if there are racks
        double latency_seconds = 0;  ///< in addition to the link's

        static constexpr void members(auto& self, auto&& visit) {
            visit(self.nodes, self.bytes_per_second, self.latency_seconds);
        }

        constexpr bool operator==(up_link const&) const = default;
    };

    /// The resources that flows share.
    enum class link_kind : std::uint8_t {
        rank_memory, ///< the bytes that a rank copies, sends and receives within its node
        node_memory, ///< the same for all ranks of a node
        rank_out,    ///< the bytes that a rank sends to other nodes
        rank_in,
        node_out,
        node_in,
        rack_out,
        rack_in,
    };

    holder_t ranks_per_node = 8;
    /// Within a process. A rank has one thread: it copies, sends and receives within its node one
    /// after the other. In the same way, all ranks of a node share the node's memory.
    speed copy{8e9, 100e9, 0};
    /// Between ranks of a node. A rank spends the same time on a byte that it sends as on a byte
    /// that it receives.
    speed memory{6e9, 60e9, 2e-6};
    /// Between nodes: the rates of a rank and of a node, in each direction.
    speed link{0, 25e9, 5e-6};
    /// Between racks: the rate of a rack, in each direction.
    up_link rack;

    constexpr holder_t node_of(holder_t process) const { return process / ranks_per_node; }
    constexpr holder_t rack_of(holder_t process) const {
        return rack.nodes == 0 ? 0 : node_of(process) / rack.nodes;
    }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.ranks_per_node, self.copy, self.memory, self.link, self.rack);
    }

    constexpr bool operator==(network const&) const = default;
};

/// Refuses bandwidths that are neither 0 nor from 1 to 1e18 bytes per second, latencies and run
/// times that are not from 0 to 1e6 seconds, a run time of `link`, a speed without any bandwidth,
/// and nodes without ranks.
///
/// \throws error with errc::bad_layout that names the field, its number and the allowed numbers
RESHARD_DECL void validate(network const& network);

/// Bytes that one process sends to another, or copies within itself.
struct simulated_flow {
    /// An earlier flow that this flow waits for.
    struct awaited {
        static constexpr index_t all = std::numeric_limits<index_t>::max();

        std::size_t flow = 0; ///< its number, less than the number of the waiting flow
        /// The bytes by which the earlier flow stays ahead until it ends: a relay passes on chunks
        /// that have arrived. If `all`, the earlier flow must end first.
        index_t bytes_ahead = all;

        constexpr bool operator==(awaited const&) const = default;
    };

    holder_t source = 0;
    holder_t target = 0;
    index_t bytes = 0; ///< if 0, the flow ends as soon as it can begin
    vector<awaited> waits_for = {};
    index_t runs = 0; ///< the number of runs; the bytes of a run are contiguous on both sides
};

namespace detail {

template <>
inline constexpr stored_form form_of<network::speed>{"speed of a network"};
template <>
inline constexpr stored_form form_of<network::up_link>{"link of a rack"};
template <>
inline constexpr stored_form form_of<network>{"network", 12};

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/network.ipp>
#endif

#endif
