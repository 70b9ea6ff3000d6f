// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_IMPL_SIMULATION_IPP
#define RESHARD_ANALYSIS_IMPL_SIMULATION_IPP

#include <reshard/analysis/simulation.hpp>

#include <reshard/analysis/impl/flow_classes.ipp>
#include <reshard/analysis/impl/flow_runner.ipp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/error.hpp>
#include <reshard/plan/flows.hpp>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace reshard {

namespace detail {

/// The bytes that a link of a class has to move, in any order.
struct link_load {
    index_t bytes = 0;
    double seconds = 0;       ///< at full speed
    double least_seconds = 0; ///< in addition, the shortest latency
};

inline vector<link_load> loads_of(flow_classes const& classes) {
    constexpr auto noun = "the bytes over a link";
    vector<link_load> loads(classes.link_class_count);
    for (std::size_t link = 0; link < loads.size(); ++link) {
        link_load& load = loads[link];
        double latency = std::numeric_limits<double>::infinity();
        for (flow_classes::use const& use : classes.flows_of[link]) {
            auto const& flow = classes.flows[use.other];
            index_t const bytes = checked_multiply(flow.bytes, use.count, noun);
            load.bytes = checked_add(load.bytes, bytes, noun);
            load.seconds += static_cast<double>(bytes) * use.seconds_per_byte;
            latency = std::min(latency, flow.latency);
        }
        load.least_seconds = load.seconds + latency;
    }
    return loads;
}

inline simulation result_of(flow_classes const& classes, vector<link_load> const& loads,
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

/// Sums of bytes or runs by number. Equal numbers are added up from time to time, to save memory.
class sums_by_number {
public:
    /// \param noun for the message if a sum overflows
    explicit sums_by_number(std::string_view noun) : what_(noun) {}

    void add(std::uint64_t number, index_t more) {
        entries_.emplace_back(number, more);
        if (entries_.size() >= 2 * distinct_ + (1 << 16))
            add_up();
    }

    /// The sums, in the order of their numbers.
    vector<std::pair<std::uint64_t, index_t>> take() && {
        add_up();
        return std::move(entries_);
    }

private:
    void add_up() {
        std::ranges::sort(entries_);
        std::size_t count = 0;
        for (auto const& entry : entries_)
            if (count > 0 && entries_[count - 1].first == entry.first)
                entries_[count - 1].second =
                    checked_add(entries_[count - 1].second, entry.second, what_);
            else
                entries_[count++] = entry;
        entries_.resize(distinct_ = count);
    }

    std::string_view what_;
    vector<std::pair<std::uint64_t, index_t>> entries_;
    std::size_t distinct_ = 0; ///< the number of distinct numbers at the last addition
};

inline std::uint64_t joined(std::uint32_t high, std::uint32_t low) {
    return std::uint64_t{high} << 32 | low;
}

/// Adds the relayed flows, by tree and position. Each flow begins a chunk after the flow that
/// brings its elements.
inline void add_trees(plan_flows const& flows, sums_by_number relayed,
                      vector<simulated_flow>& simulated_flows) {
    std::size_t first = simulated_flows.size(); // the tree's first flow
    std::uint32_t last = flow::no_tree;
    for (auto const& [number, bytes] : std::move(relayed).take()) {
        auto const tree = static_cast<std::uint32_t>(number >> 32);
        auto const index = static_cast<std::uint32_t>(number);
        if (std::exchange(last, tree) != tree)
            first = simulated_flows.size();
        relay_tree const way = flows.tree(tree);
        auto const process = [&](holder_t holder) { return flows.options().process_of(holder); };
        simulated_flows.push_back(
            {process(sender_of(way, index)), process(way.receivers[index]), bytes});
        if (index > 0)
            simulated_flows.back().waits_for = {
                {first + step_of(way, index).parent, std::min(bytes, chunk_bytes)}};
    }
}

/// Makes one flow of all bytes from one process to another, ordered by source, then by target.
/// Relayed flows come last.
///
/// \param has_runs whether runs take time: counting them is slow
inline vector<simulated_flow> flows_by_pair(plan_flows const& flows, bool has_runs) {
    sums_by_number pairs("the bytes between two processes"), relayed("the bytes of a tree"),
        runs("the runs between two processes");
    for (std::size_t kind = 0; kind < flows.size(); ++kind) {
        auto const add = [&](flow const& flow) {
            index_t const bytes =
                checked_multiply(flow.bytes, flows.count(kind), "the bytes between two processes");
            if (flow.tree != flow::no_tree)
                return relayed.add(joined(flow.tree, flow.position), bytes);
            pairs.add(joined(flow.source, flow.target), bytes);
            if (has_runs)
                runs.add(
                    joined(flow.source, flow.target),
                    checked_multiply(flow.runs, flows.count(kind), "the runs of two processes"));
        };
        flows.for_each(kind, add, has_runs);
    }
    vector<simulated_flow> simulated_flows;
    for (auto const& [pair, bytes] : std::move(pairs).take())
        simulated_flows.push_back(
            {static_cast<holder_t>(pair >> 32), static_cast<holder_t>(pair), bytes});
    auto to = simulated_flows.begin(); // flows of the same pairs, in the same order
    for (auto const& [pair, count] : std::move(runs).take())
        (to++)->runs = count;
    add_trees(flows, std::move(relayed), simulated_flows);
    return simulated_flows;
}

} // namespace detail

RESHARD_DECL std::string name(simulation::link const& link) {
    constexpr std::string_view names[] = {"the memory of rank ",   "the memory of node ",
                                          "the link of rank ",     "the link of rank ",
                                          "the link out of node ", "the link into node ",
                                          "the link out of rack ", "the link into rack "};
    std::string const text =
        std::string(names[static_cast<std::size_t>(link.kind)]) + std::to_string(link.number);
    return link.kind == simulation::link_kind::rank_out  ? text + " out of its node"
           : link.kind == simulation::link_kind::rank_in ? text + " into its node"
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
    bool const has_runs = over.copy.run_seconds > 0 || over.memory.run_seconds > 0;
    return simulate(detail::flows_by_pair(flows, has_runs), over);
}

} // namespace reshard

#endif
