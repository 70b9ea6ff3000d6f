// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_COST_HPP
#define RESHARD_PLAN_COST_HPP

#include <reshard/plan/options.hpp>
#include <reshard/plan/plan.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// What a plan will cost, before anything moves.

namespace reshard {

/// What one process gives and gets.
///
/// \par Units bytes on the wire; a message is everything that one process gives another
struct process_cost {
    index_t bytes_in = 0;
    index_t bytes_out = 0;
    index_t bytes_local = 0; ///< moved within the process
    index_t messages_in = 0;
    index_t messages_out = 0;

    constexpr bool operator==(process_cost const&) const = default;
};

/// The cost of a whole plan.
struct plan_cost {
    index_t transfers = 0;
    index_t messages = 0;
    index_t bytes = 0; ///< all that is written, moved within a process or between two
    index_t bytes_local = 0;
    index_t peak_extra_bytes = 0; ///< the most staging that a process needs beside the tensors
    std::vector<process_cost> by_process;

    constexpr bool operator==(plan_cost const&) const = default;
};

/// The most bytes that travel as one message, and the most that a process stages at a time.
inline constexpr index_t chunk_bytes = index_t{1} << 20;
inline constexpr index_t staging_bytes = 8 * chunk_bytes;

/// Counts a plan made for everybody, over `processes` processes.
///
/// \par Units bytes, and messages: all that one process gives another is one
/// \pre `whole` was made with `options`, and `options.process_of(h) < processes` for every holder
///      `h` that gives (unless `options.shared_sources`) or gets
/// \throws error with errc::overflow when all bytes together do not fit 64 bits
constexpr plan_cost cost_of(plan const& whole, holder_t processes,
                            plan_options const& options = {}) {
    plan_cost cost;
    cost.by_process = std::vector<process_cost>(processes, process_cost{});
    auto const process_of = [&](holder_t holder) {
        holder_t const process = options.process_of(holder);
        BOOST_ASSERT(process < processes);
        return process;
    };
    std::vector<std::pair<holder_t, holder_t>> pairs;
    for (transfer const& part : whole.transfers) {
        index_t const bytes = wire_bytes(whole, part);
        holder_t const target = process_of(part.target_holder);
        bool const is_local = part.source_holder == no_holder || options.shared_sources ||
                              options.process_of(part.source_holder) == target;
        ++cost.transfers;
        cost.bytes = checked_add(cost.bytes, bytes, "the bytes of all transfers");
        (is_local ? cost.by_process[target].bytes_local : cost.by_process[target].bytes_in) +=
            bytes;
        if (is_local) {
            cost.bytes_local += bytes;
            continue;
        }
        holder_t const source = process_of(part.source_holder);
        cost.by_process[source].bytes_out += bytes;
        pairs.push_back({source, target});
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    for (auto const& [source, target] : pairs) {
        ++cost.by_process[source].messages_out;
        ++cost.by_process[target].messages_in;
    }
    cost.messages = static_cast<index_t>(pairs.size());
    for (process_cost const& one : cost.by_process)
        cost.peak_extra_bytes =
            std::max(cost.peak_extra_bytes, std::min(one.bytes_in + one.bytes_out, staging_bytes));
    return cost;
}

} // namespace reshard

#endif
