// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_SIMULATION_HPP
#define RESHARD_ANALYSIS_SIMULATION_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/network.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// \file
/// Simulates the time that bytes take over a network, and finds their bottleneck.

namespace reshard {

class plan_flows;

/// The result of running flows over a network.
///
/// \par Units seconds from the beginning, bytes
struct simulation {
    using link_kind = network::link_kind; ///< what flows share

    /// A time in which the rate is constant.
    struct interval {
        double begin = 0;
        double end = 0;
        double bytes_per_second = 0;

        constexpr bool operator==(interval const&) const = default;
    };

    struct link {
        link_kind kind = {};
        holder_t number = 0; ///< of the rank, node or rack
        index_t bytes = 0;
        double busy_seconds = 0;  ///< in which something moves
        double utilisation = 0;   ///< the share of the bytes that it could have moved in all the
                                  ///< time
        double least_seconds = 0; ///< bytes over bandwidth and runs, after the shortest latency

        /// In order. If there are more than `most_intervals`, neighbours are joined, with their
        /// mean.
        vector<interval> timeline;

        constexpr bool operator==(link const&) const = default;
    };

    static constexpr std::size_t most_intervals = 128;

    double seconds = 0;         ///< until the last flow ends
    vector<link> links;         ///< those in use, by kind and number
    vector<double> ended;       ///< when each flow ends
    std::size_t bounded_by = 0; ///< of the links, the first with the greatest `least_seconds`

    /// No order of the same flows takes less; 0 if nothing moves.
    double least_seconds() const { return links.empty() ? 0 : links[bounded_by].least_seconds; }

    bool operator==(simulation const&) const = default;
};

/// `the link out of node 3`, `the memory of rank 5`.
RESHARD_DECL std::string name(simulation::link const& link);

/// Runs flows, each as soon as it can, over links that are shared fairly (max-min): on every full
/// link, a flow is only slower than another flow if something else limits it.
///
/// Equal flows are simulated once. If more than 1,024 different ones are under way, the bandwidth
/// of the first 1/64 that end is given to others when the last of these ends, so that 100,000 take
/// seconds. The result does not depend on the order of the flows.
///
/// \throws error with errc::usage for negative bytes or runs, or a flow that waits for one that
///         is not before it; as `validate` of the network
RESHARD_DECL simulation simulate(std::span<simulated_flow const> flows, network const& over);

/// The same for a plan. All bytes that one process gives another are one flow, and all flows begin
/// at once; `ended` is by source, then by target. Relayed elements are a flow for each position of
/// a tree, by tree and after the others, that begins when the first chunk of 1 MiB has arrived.
///
/// \pre `flows.options().process_of(h) < processes` for every holder `h`
/// \throws error with errc::overflow when the bytes of two processes do not fit 64 bits; see also
///         above
RESHARD_DECL simulation simulate(plan_flows const& flows, network const& over);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/analysis/impl/simulation.ipp>
#endif

#endif
