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
/// Simulates how long bytes take over a network, and finds the bottleneck.

namespace reshard {

class plan_flows;

/// The result of running flows over a network.
///
/// \par Units seconds from the beginning, bytes
struct simulation {
    using link_kind = network::link_kind; ///< the resources that flows share

    /// A time interval with a constant rate.
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
        double busy_seconds = 0;  ///< seconds in which bytes move
        double utilisation = 0;   ///< bytes, divided by the bytes possible in all the time
        double least_seconds = 0; ///< for bytes and runs at full speed, plus the shortest latency

        /// In order of time. If there are more than `most_intervals`, neighbours are joined, with
        /// the mean of their rates.
        vector<interval> timeline;

        constexpr bool operator==(link const&) const = default;
    };

    static constexpr std::size_t most_intervals = 128;

    double seconds = 0;         ///< until the last flow ends
    vector<link> links;         ///< links in use, by kind and number
    vector<double> ended;       ///< by flow: the time when it ends
    std::size_t bounded_by = 0; ///< index of the first link with the greatest `least_seconds`

    /// No order of the same flows takes less time; 0 if no byte moves.
    double least_seconds() const { return links.empty() ? 0 : links[bounded_by].least_seconds; }

    bool operator==(simulation const&) const = default;
};

/// In words, for example `the link out of node 3` or `the memory of rank 5`.
RESHARD_DECL std::string name(simulation::link const& link);

/// Runs flows, each as soon as it can start, over links that are shared fairly (max-min): on a full
/// link, a flow is slower than another flow only if something else limits it.
///
/// Equal flows are simulated once. With more than 1,024 different flows at a time, the first 1/64
/// that end are handled together: their bandwidth becomes free when the last of them ends. So
/// 100,000 flows take seconds. The result does not depend on the order of the flows.
///
/// \throws error with errc::usage for negative bytes or runs, or for a flow that waits for a flow
///         that is not before it; the errors of `validate` of the network
RESHARD_DECL simulation simulate(std::span<simulated_flow const> flows, network const& over);

/// The same for a plan. All bytes from one process to another are one flow, and all these flows
/// begin at once; `ended` lists them by source, then by target. After them come the relayed
/// elements: a flow for each position of each tree, by tree, which begins when the first chunk of 1
/// MiB has arrived.
///
/// \pre `flows.options().process_of(h) < processes` for every holder `h`
/// \throws error with errc::overflow if the bytes between two processes exceed 64 bits; the errors
///         of `simulate` for flows
RESHARD_DECL simulation simulate(plan_flows const& flows, network const& over);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/analysis/impl/simulation.ipp>
#endif

#endif
