// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_SIMULATION_IPP
#define RESHARD_PLAN_IMPL_SIMULATION_IPP

#include <reshard/plan/simulation.hpp>

#include <reshard/core/data_type.hpp>
#include <reshard/core/error.hpp>
#include <reshard/plan/flow_classes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/impl/flow_runner.ipp>

#include <algorithm>
#include <limits>
#include <utility>

namespace reshard {

namespace detail {

/// What a link of a class has to move, whoever is when.
struct link_load {
    index_t bytes = 0;
    double seconds = 0;       ///< at full speed
    double least_seconds = 0; ///< the same behind the shortest latency
};

inline std::vector<link_load> loads_of(flow_classes const& classes) {
    constexpr auto what = "the bytes over a link";
    std::vector<link_load> loads(classes.link_class_count);
    for (std::size_t link = 0; link < loads.size(); ++link) {
        link_load& load = loads[link];
        double latency = std::numeric_limits<double>::infinity();
        for (flow_classes::use const& one : classes.flows_of[link]) {
            auto const& flow = classes.flows[one.other];
            index_t const bytes = checked_multiply(flow.bytes, one.count, what);
            load.bytes = checked_add(load.bytes, bytes, what);
            load.seconds += static_cast<double>(bytes) * one.seconds_per_byte;
            latency = std::min(latency, flow.latency);
        }
        load.least_seconds = load.seconds + latency;
    }
    return loads;
}

inline simulation result_of(flow_classes const& classes, std::vector<link_load> const& loads,
                            flow_runner const& runner) {
    simulation result;
    for (std::uint32_t const flow : classes.class_of_flow) {
        result.ended.push_back(runner.ended(flow));
        result.seconds = std::max(result.seconds, result.ended.back());
    }
    for (std::size_t i = 0; i < classes.links.size(); ++i) {
        std::uint32_t const c = classes.class_of_link[i];
        link_load const& load = loads[c];
        link_record const& record = runner.record(c);
        auto const& [kind, number] = classes.links[i];
        result.links.push_back({kind, number, load.bytes, record.busy(),
                                load.seconds / result.seconds, load.least_seconds, record.all()});
        if (load.least_seconds > result.least_seconds())
            result.bounded_by = i;
    }
    return result;
}

/// All that one process gives another as one flow, by source, then by target.
inline std::vector<simulated_flow> flows_by_pair(plan_flows const& flows) {
    std::vector<std::pair<std::uint64_t, index_t>> pairs;
    std::size_t distinct = 0;
    auto const add_up = [&] {
        std::ranges::sort(pairs);
        std::size_t count = 0;
        for (auto const& one : pairs)
            if (count > 0 && pairs[count - 1].first == one.first)
                pairs[count - 1].second = checked_add(pairs[count - 1].second, one.second,
                                                      "the bytes between two processes");
            else
                pairs[count++] = one;
        pairs.resize(distinct = count);
    };
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](flow const& one) {
            pairs.emplace_back(
                std::uint64_t{one.source} << 32 | one.target,
                checked_multiply(one.bytes, flows.count(kind), "the bytes between two processes"));
            if (pairs.size() >= 2 * distinct + (1 << 16))
                add_up();
        });
    add_up();
    std::vector<simulated_flow> all;
    for (auto const& [pair, bytes] : pairs)
        all.push_back({static_cast<holder_t>(pair >> 32), static_cast<holder_t>(pair), bytes});
    return all;
}

} // namespace detail

RESHARD_DECL std::string name(simulation::link const& one) {
    constexpr std::string_view names[] = {"the memory of rank ",   "the memory of node ",
                                          "the way of rank ",      "the way of rank ",
                                          "the link out of node ", "the link into node ",
                                          "the link out of rack ", "the link into rack "};
    std::string const text =
        std::string(names[static_cast<std::size_t>(one.kind)]) + std::to_string(one.number);
    return one.kind == simulation::link_kind::rank_out  ? text + " out of its node"
           : one.kind == simulation::link_kind::rank_in ? text + " into its node"
                                                        : text;
}

RESHARD_DECL simulation simulate(std::span<simulated_flow const> flows, network const& over) {
    validate(over);
    detail::flow_classes const classes = detail::classify(flows, over);
    auto const loads = detail::loads_of(classes);
    detail::flow_runner runner(classes);
    runner.run();
    return detail::result_of(classes, loads, runner);
}

RESHARD_DECL simulation simulate(plan_flows const& flows, network const& over) {
    return simulate(detail::flows_by_pair(flows), over);
}

} // namespace reshard

#endif
