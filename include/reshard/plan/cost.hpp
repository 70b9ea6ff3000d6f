// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_COST_HPP
#define RESHARD_PLAN_COST_HPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/plan.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

/// \file
/// The cost of a plan, before any byte moves.

namespace reshard {

/// The bytes and messages that one process sends and receives.
///
/// \par Units bytes on the wire; all bytes from one process to another are one message
struct process_cost {
    index_t bytes_in = 0;
    index_t bytes_out = 0;
    index_t bytes_local = 0; ///< moved within the process
    index_t messages_in = 0;
    index_t messages_out = 0;
    index_t bytes_node_in = 0;  ///< received without messages, through arenas and rings of the node
    index_t bytes_node_out = 0; ///< sent in the same way
    index_t bytes_relayed = 0;  ///< sent, in messages or not, after the process received them

    constexpr process_cost& operator+=(process_cost const& more) {
        bytes_in += more.bytes_in;
        bytes_out += more.bytes_out;
        bytes_local += more.bytes_local;
        messages_in += more.messages_in;
        messages_out += more.messages_out;
        bytes_node_in += more.bytes_node_in;
        bytes_node_out += more.bytes_node_out;
        bytes_relayed += more.bytes_relayed;
        return *this;
    }

    constexpr bool operator==(process_cost const&) const = default;
};

/// The cost of a plan for all processes.
struct plan_cost {
    index_t transfers = 0;
    index_t relays = 0; ///< transfers that a receiver passes on
    index_t messages = 0;
    index_t bytes = 0; ///< all bytes written, within a process or between two processes
    index_t bytes_local = 0;
    index_t peak_extra_bytes = 0; ///< the most staging that a process needs beside tensors
    vector<process_cost> by_process;

    /// The largest value of a process divided by the average; 1 if all values are equal.
    ///
    /// \param member counts bytes or messages
    constexpr double imbalance(index_t process_cost::*member) const {
        index_t most = 0;
        double sum = 0;
        for (process_cost const& process : by_process) {
            most = std::max(most, process.*member);
            sum += static_cast<double>(process.*member);
        }
        return most == 0 ? 1
                         : static_cast<double>(most) * static_cast<double>(by_process.size()) / sum;
    }

    constexpr bool operator==(plan_cost const&) const = default;
};

namespace detail {

/// The most bytes in one message, and the most bytes that a process stages at a time.
inline constexpr index_t chunk_bytes = index_t{1} << 20;
inline constexpr index_t staging_bytes = 8 * chunk_bytes;

/// Equal transfers from one process to another, or within one process.
///
/// \par Units `bytes` of one transfer, on the wire
struct flow {
    holder_t source = 0;
    holder_t target = 0;
    index_t bytes = 0;
    index_t count = 1;
    bool is_rest = false;         ///< the pair of shards is already counted
    std::uint32_t tree = no_tree; ///< set for relayed elements
    std::uint32_t position = 0;   ///< position of the target in the tree
    index_t runs = 0;             ///< contiguous runs of one transfer, if they are counted

    static constexpr std::uint32_t no_tree = 0xffffffff;

    constexpr bool is_passed_on() const { return tree != no_tree && position > 0; }

    constexpr bool operator==(flow const&) const = default;
};

/// The memory that a process needs beside its tensors to send and receive these bytes: packed
/// copies of chunks in flight.
///
/// \par Units bytes
constexpr index_t staging_of(process_cost const& cost) {
    return std::min(cost.bytes_in + cost.bytes_out, staging_bytes);
}

/// Sums the costs of flows.
class cost_counter {
public:
    constexpr explicit cost_counter(holder_t processes) {
        cost_.by_process = vector<process_cost>(processes, process_cost{});
    }

    /// \pre    both ends of the flow are processes, and its numbers are not negative
    /// \throws error with errc::overflow if the sum of all bytes exceeds 64 bits
    constexpr void add(flow const& flow) {
        BOOST_ASSERT(flow.source < cost_.by_process.size() &&
                     flow.target < cost_.by_process.size());
        constexpr auto member = "the bytes of all transfers";
        index_t const bytes = checked_multiply(flow.bytes, flow.count, member);
        cost_.transfers += flow.count;
        cost_.bytes = checked_add(cost_.bytes, bytes, member);
        if (flow.source == flow.target) {
            cost_.by_process[flow.target].bytes_local += bytes;
            cost_.bytes_local += bytes;
            return;
        }
        cost_.by_process[flow.target].bytes_in += bytes;
        cost_.by_process[flow.source].bytes_out += bytes;
        if (flow.is_passed_on()) {
            cost_.relays += flow.count;
            cost_.by_process[flow.source].bytes_relayed += bytes;
        }
        pairs_.push_back(std::uint64_t{flow.source} << 32 | flow.target);
        if (pairs_.size() >= 2 * distinct_ + (1 << 16))
            keep_distinct();
    }

    /// The cost of all flows so far.
    constexpr plan_cost cost() && {
        keep_distinct();
        for (std::uint64_t const pair : pairs_) {
            ++cost_.by_process[static_cast<holder_t>(pair >> 32)].messages_out;
            ++cost_.by_process[static_cast<holder_t>(pair)].messages_in;
        }
        cost_.messages = static_cast<index_t>(pairs_.size());
        for (process_cost const& cost : cost_.by_process)
            cost_.peak_extra_bytes = std::max(cost_.peak_extra_bytes, staging_of(cost));
        return std::move(cost_);
    }

private:
    constexpr void keep_distinct() {
        std::sort(pairs_.begin(), pairs_.end());
        pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
        distinct_ = pairs_.size();
    }

    plan_cost cost_;
    vector<std::uint64_t> pairs_; ///< sender and receiver; fewer than half are duplicates
    std::size_t distinct_ = 0;    ///< the number of distinct pairs at the last count
};

} // namespace detail

/// The cost of a plan for all holders, on `processes` processes.
///
/// \par Units bytes, and messages: all bytes from one process to another are one message
/// \pre `plan` was made with `options`, and `options.process_of(h) < processes` for every holder
///      `h` that receives elements or (unless `options.shared_sources`) sends them
/// \throws error with errc::overflow if the sum of all bytes exceeds 64 bits
constexpr plan_cost cost_of(plan const& plan, holder_t processes,
                            plan_options const& options = {}) {
    detail::cost_counter counter(processes);
    for (std::uint32_t i = 0; i < plan.transfers.size(); ++i) {
        transfer const& t = plan.transfers[i];
        holder_t const target = options.process_of(t.target_holder);
        bool const stays = t.source_holder == detail::no_holder || options.shared_sources;
        detail::relay const* const step = detail::find_relay(plan.relays, i);
        detail::flow flow{stays ? target : options.process_of(detail::sender_of(plan, t, step)),
                          target, detail::wire_bytes(plan, t)};
        if (step) {
            flow.tree = step->tree;
            flow.position = step->position;
        }
        counter.add(flow);
    }
    return std::move(counter).cost();
}

} // namespace reshard

#endif
