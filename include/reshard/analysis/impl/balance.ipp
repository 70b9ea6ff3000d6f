// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_IMPL_BALANCE_IPP
#define RESHARD_ANALYSIS_IMPL_BALANCE_IPP

#include <reshard/analysis/balance.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/plan/flows.hpp>
#include <reshard/plan/load_balance.hpp>
#include <reshard/plan/sender_classes.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace reshard {

namespace detail {

inline plan_balance::extreme extreme_of(vector<index_t> const& bytes, index_t least) {
    if (bytes.empty())
        return {};
    auto const most = std::max_element(bytes.begin(), bytes.end());
    return {static_cast<holder_t>(most - bytes.begin()), *most, std::min(least, *most)};
}

/// The seconds per byte; 0 if the bandwidth is not limited.
inline double seconds_per_byte(double bytes_per_second) {
    return bytes_per_second > 0 ? 1 / bytes_per_second : 0;
}

/// The bytes that a rank, or all ranks of a node, receive.
struct wanted_bytes {
    double entering = 0; ///< the least bytes from other nodes
    double all = 0;      ///< bytes that may come from other nodes, or be passed on within the node
    double ranks = 0;    ///< ranks that receive bytes, or send bytes within the node
    double copied = 0;   ///< bytes copied within a rank
    double held = 0;     ///< bytes that a source on the node sends to another rank

    wanted_bytes& operator+=(wanted_bytes const& more) {
        entering += more.entering;
        all += more.all;
        ranks += more.ranks;
        copied += more.copied;
        held += more.held;
        return *this;
    }
};

/// The seconds that each way of a byte takes.
struct byte_seconds {
    double entered = 0;
    double handed_on = 0;
    double copied = 0;
};

/// The least time to receive bytes that may either enter over one link or be passed on over a
/// second link. The division is the fastest one in which at least the necessary bytes enter.
inline double least_of_both(wanted_bytes const& wanted, byte_seconds const& each) {
    double const fixed = each.copied * wanted.copied + each.handed_on * wanted.held;
    double const sum = each.entered + each.handed_on;
    double const entering = sum == 0 ? wanted.all
                                     : std::clamp((each.handed_on * wanted.all + fixed) / sum,
                                                  wanted.entering, wanted.all);
    return std::max(each.entered * entering, each.handed_on * (wanted.all - entering) + fixed);
}

/// Replaces the longest of some least times if the new time is longer.
inline void keep_longest(least_time& longest, double seconds, double latency, auto&& of) {
    if (seconds > 0 && seconds + latency > longest.seconds)
        longest = {seconds + latency, of()};
}

/// The bytes that each rank receives.
inline vector<wanted_bytes> wanted_by_rank(plan_flows const& flows, holder_t processes) {
    vector<wanted_bytes> ranks(processes, wanted_bytes{});
    auto const add = [&](flow const& flow, double bytes) {
        wanted_bytes& target = ranks[flow.target];
        target.ranks = 1;
        if (flow.source == flow.target) {
            target.copied += bytes;
            return;
        }
        bool const is_near =
            flows.options().node_of(flow.source) == flows.options().node_of(flow.target);
        if (is_near)
            ranks[flow.source].ranks = 1;
        if (is_near && !flow.is_passed_on()) {
            target.held += bytes;
            return;
        }
        target.all += bytes;
        target.entering += is_near ? 0 : bytes;
    };
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](flow const& flow) {
            add(flow, static_cast<double>(flow.bytes) * static_cast<double>(flows.count(kind)));
        });
    return ranks;
}

/// The least time until all bytes have left the ranks and nodes that hold them.
inline least_time least_time_out(plan_flows const& flows, network const& over, holder_t processes) {
    vector<shared_load> loads = flows.loads();
    erase_if(loads, [](shared_load const& load) { return !load.leaves_node; });
    load_balance const best(std::move(loads), processes, over.ranks_per_node);
    least_time longest;
    double const latency = over.link.latency_seconds;
    keep_longest(longest,
                 static_cast<double>(best.sender().bound) *
                     seconds_per_byte(over.link.rank_bytes_per_second),
                 latency, [] { return "the links of ranks out of their nodes"; });
    keep_longest(longest,
                 static_cast<double>(best.link().bound) *
                     seconds_per_byte(over.link.node_bytes_per_second),
                 latency, [] { return "the links out of nodes"; });
    return longest;
}

/// The seconds per byte if all ranks of a node share the work. A byte that is passed on is sent
/// and received.
inline byte_seconds seconds_of_node(network const& over, double ranks) {
    auto const each = [&](network::speed const& speed, double ends) {
        return std::max(ends * seconds_per_byte(speed.rank_bytes_per_second) / ranks,
                        seconds_per_byte(speed.node_bytes_per_second));
    };
    return {each(over.link, 1), each(over.memory, 2), each(over.copy, 1)};
}

RESHARD_DECL least_time least_time_of(plan_flows const& relayed, network const& over,
                                      holder_t processes) {
    least_time longest = least_time_out(relayed, over, processes);
    byte_seconds const of_rank{seconds_per_byte(over.link.rank_bytes_per_second),
                               seconds_per_byte(over.memory.rank_bytes_per_second),
                               seconds_per_byte(over.copy.rank_bytes_per_second)};
    vector<wanted_bytes> const ranks = wanted_by_rank(relayed, processes);
    for (std::size_t first = 0; first < ranks.size(); first += over.ranks_per_node) {
        wanted_bytes node;
        for (std::size_t i = first; i < std::min(ranks.size(), first + over.ranks_per_node); ++i) {
            wanted_bytes alone = ranks[i];
            node += alone;
            alone.entering = 0; // other ranks may receive it for this rank
            keep_longest(longest, least_of_both(alone, of_rank), 0,
                         [&] { return "the bytes that rank " + std::to_string(i) + " receives"; });
        }
        if (node.ranks > 0)
            keep_longest(longest, least_of_both(node, seconds_of_node(over, node.ranks)), 0, [&] {
                return "the bytes that node " + std::to_string(first / over.ranks_per_node) +
                       " receives";
            });
    }
    return longest;
}

} // namespace detail

RESHARD_DECL plan_balance balance_of(plan_flows const& flows, holder_t processes) {
    plan_options const& options = flows.options();
    vector<index_t> sent(processes, 0), received(processes, 0);
    vector<index_t> left(processes, 0); // by node
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](detail::flow const& flow) {
            if (flow.source == flow.target)
                return;
            constexpr auto noun = "the bytes of a rank";
            index_t const bytes = detail::checked_multiply(flow.bytes, flows.count(kind), noun);
            index_t& source = sent[flow.source];
            index_t& target = received[flow.target];
            source = detail::checked_add(source, bytes, noun);
            target = detail::checked_add(target, bytes, noun);
            if (holder_t const node = options.node_of(flow.source);
                node != options.node_of(flow.target))
                left[node] += bytes;
        });
    detail::load_balance const best(flows.loads(), processes, options.processes_per_node);
    plan_balance result;
    result.sender = detail::extreme_of(sent, best.sender().bound);
    result.receiver =
        detail::extreme_of(received, *std::max_element(received.begin(), received.end()));
    if (options.processes_per_node > 1)
        result.link = detail::extreme_of(left, best.link().bound);
    return result;
}

} // namespace reshard

#endif
