// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Measures redistribution between nodes: its time, beside the simulated time, and the bytes on
/// each link. The script nodes.py makes the nodes and runs this program.

#include "method_chain.hpp"
#include "method_private.hpp"
#include "method_types.hpp"
#include "mpi_main.hpp"
#include "node_cases.hpp"
#include "stage.hpp"

#include <reshard/analysis/simulation.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/format/network_file.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/problem.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace bench;

struct options {
    reshard::network over;
    index_t mebibytes = 32;
    int repeat = 2;
    std::string json;
};

/// The bytes that a link has carried, or will carry by a plan.
struct link_bytes {
    index_t in = 0;
    index_t out = 0;

    link_bytes operator-(link_bytes const& earlier) const {
        return {in - earlier.in, out - earlier.out};
    }
};

/// The bytes that the only link of this rank's node has carried so far, as the system counts them.
link_bytes counted_bytes() {
    std::ifstream file("/proc/net/dev");
    for (std::string line; std::getline(file, line);) {
        std::size_t const colon = line.find("eth0:");
        if (colon == std::string::npos)
            continue;
        std::istringstream numbers(line.substr(colon + 5));
        std::vector<index_t> counters(9);
        for (index_t& counter : counters)
            numbers >> counter;
        return {counters[0], counters[8]};
    }
    throw std::runtime_error("there is no interface eth0; start this program with nodes.py");
}

/// A method that also counts the bytes on its node's link during its last run.
class counted_method : public method {
public:
    counted_method(setting const& where, std::unique_ptr<method> inner, link_bytes& latest)
        : world_(where.world), inner_(std::move(inner)), latest_(latest) {}

    void run() override {
        inner_->run();
        if (std::exchange(is_first_, false)) { // the time of this run is not measured
            world_.barrier();
            before_ = counted_bytes();
        }
    }

    /// Called when all ranks have ended their run.
    std::optional<traffic> sent() const override {
        link_bytes const now = counted_bytes();
        latest_ = now - std::exchange(before_, now);
        return inner_->sent();
    }

private:
    boost::mpi::communicator world_;
    std::unique_ptr<method> inner_;
    link_bytes& latest_;
    mutable link_bytes before_; ///< the count when all ranks had ended the previous run
    bool is_first_ = true;
};

/// A method, and its simulated time.
struct simulated_contestant {
    contestant measured_method;
    std::function<reshard::simulation()> simulate;
};

/// Simulates the library's plan for a case.
reshard::simulation simulated(redistribution_case const& moved, reshard::network const& over,
                              reshard::options const& chosen) {
    auto const layout_on = [&](std::vector<case_tensor> const& tensors) {
        auto on_grids = layout_of(tensors);
        return on_grids ? std::move(*on_grids) : listed_layout(tensors, moved.ranks);
    };
    reshard::layout const source = layout_on(moved.sources), target = layout_on(moved.targets);
    auto const wanted = reshard::catalog_of(target);
    auto const names = reshard::identity_mapping(reshard::catalog_of(source), &wanted);
    auto const problem = reshard::problem_of(names, source, target);
    return reshard::simulate(
        reshard::plan_flows(problem, {.processes_per_node = over.ranks_per_node,
                                      .between_nodes = chosen.between_nodes}),
        over);
}

/// The flows of `MPI_Alltoallw`: all pairs of ranks at the same time.
std::vector<reshard::simulated_flow> pair_flows(redistribution_case const& moved) {
    std::vector<reshard::simulated_flow> flows;
    for (int sender = 0; sender < moved.ranks; ++sender)
        for (int receiver = 0; receiver < moved.ranks; ++receiver) {
            index_t bytes = 0;
            for (given_piece const& piece : given(moved, sender, receiver))
                bytes += piece.shared.elements() *
                         element_bytes(moved.sources[piece.piece->source].dtype);
            flows.push_back({static_cast<reshard::holder_t>(sender),
                             static_cast<reshard::holder_t>(receiver), bytes});
        }
    return flows;
}

std::vector<simulated_contestant> contestants_of(redistribution_case const& moved,
                                                 reshard::network const& over) {
    std::vector<simulated_contestant> contestants;
    auto const add_library = [&](std::string name, reshard::options const& chosen) {
        contestants.push_back({contestant_of<private_method>(std::move(name), moved, chosen),
                               [&moved, over, chosen] { return simulated(moved, over, chosen); }});
    };
    add_library("direct", {});
    add_library("relays", {.between_nodes = reshard::relays()});
    contestants.push_back({contestant_of<types_method>("Alltoallw", moved),
                           [&moved, over] { return reshard::simulate(pair_flows(moved), over); }});
    contestants.push_back({contestant_of<chain_method>("Bcast", moved), [&moved, over] {
                               return reshard::simulate(flows_of(*chains_of(moved), moved.ranks),
                                                        over);
                           }});
    return contestants;
}

/// By node, the bytes that its link carries in a simulation.
std::vector<link_bytes> planned_bytes(reshard::simulation const& run, std::size_t nodes) {
    std::vector<link_bytes> planned(nodes);
    for (reshard::simulation::link const& link : run.links)
        if (link.kind == reshard::network::link_kind::node_out)
            planned[link.number].out = link.bytes;
        else if (link.kind == reshard::network::link_kind::node_in)
            planned[link.number].in = link.bytes;
    return planned;
}

/// By node, the bytes that its link has carried, as its first rank has counted them.
std::vector<link_bytes> gathered_bytes(boost::mpi::communicator const& world, int per_node,
                                       link_bytes const& own) {
    std::vector<link_bytes> carried(static_cast<std::size_t>(world.size() / per_node));
    for (std::size_t node = 0; node < carried.size(); ++node) {
        bool const is_first = world.rank() == static_cast<int>(node) * per_node;
        auto const sum = [&](index_t bytes) {
            return boost::mpi::all_reduce(world, is_first ? bytes : 0, std::plus<index_t>());
        };
        carried[node] = {sum(own.in), sum(own.out)};
    }
    return carried;
}

/// The greatest difference on a link in one direction, divided by the bytes of the busiest link.
double difference(std::vector<link_bytes> const& carried, std::vector<link_bytes> const& planned) {
    index_t most = 1, off = 0;
    for (std::size_t node = 0; node < planned.size(); ++node) {
        most = std::max({most, planned[node].in, planned[node].out});
        off = std::max({off, std::abs(carried[node].in - planned[node].in),
                        std::abs(carried[node].out - planned[node].out)});
    }
    return static_cast<double>(off) / static_cast<double>(most);
}

index_t sum_out(std::vector<link_bytes> const& links) {
    index_t sum = 0;
    for (link_bytes const& link : links)
        sum += link.out;
    return sum;
}

/// Measures a case, and adds a row for each method. True if every element was right.
bool measure(boost::mpi::communicator const& world, redistribution_case const& moved,
             options const& chosen, std::vector<std::string>& rows) {
    stage stage(world, moved);
    auto const per_node = static_cast<int>(chosen.over.ranks_per_node);
    for (simulated_contestant const& next : contestants_of(moved, chosen.over)) {
        if (!next.measured_method.refusal.empty())
            continue;
        link_bytes latest;
        contestant counted = next.measured_method;
        counted.prepare = [&](setting const& where) {
            return std::make_unique<counted_method>(where, next.measured_method.prepare(where),
                                                    latest);
        };
        measurement const result = stage.measure_warm({counted}, chosen.repeat).front();
        auto const carried = gathered_bytes(world, per_node, latest);
        reshard::simulation const run = next.simulate();
        auto const planned = planned_bytes(run, carried.size());
        rows.push_back(json_object()
                           .add("case", moved.name)
                           .add("method", next.measured_method.name)
                           .add("seconds", result.best())
                           .add("median_seconds", result.median())
                           .add("simulated_seconds", run.seconds)
                           .add("counted_bytes", sum_out(carried))
                           .add("planned_bytes", sum_out(planned))
                           .add("worst_link", difference(carried, planned))
                           .text());
    }
    return boost::mpi::all_reduce(world, stage.all_right(), std::logical_and<bool>());
}

void read(CLI::App& program, int count, char** words, options& chosen) {
    program
        .add_option_function<std::string>(
            "--network",
            [&](std::string const& path) { chosen.over = reshard::read_network(path); },
            "The network of the nodes, as reshard measure-network has measured it")
        ->required();
    program.add_option("--mebibytes", chosen.mebibytes, "The size of the tensors of a case")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    program.add_option("--repeat", chosen.repeat, "Repetitions")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    program.add_option("--json", chosen.json, "Write the numbers to this file")->required();
    program.parse(count, words);
}

bool run(boost::mpi::communicator const& world, options const& chosen) {
    std::vector<std::string> rows;
    bool is_right = true;
    auto const per_node = static_cast<int>(chosen.over.ranks_per_node);
    for (redistribution_case const& moved :
         node_case_maker(world.size(), per_node, chosen.mebibytes << 20).all())
        is_right &= measure(world, moved, chosen, rows);
    if (world.rank() == 0)
        write_json_list(chosen.json, rows);
    return is_right;
}

} // namespace

int main(int count, char** words) {
    CLI::App program("Measures redistribution between nodes, and checks every element.");
    options chosen;
    return mpi_main("nodes", program, count, words, [&](boost::mpi::communicator const& world) {
        read(program, count, words, chosen);
        return run(world, chosen) ? 0 : 1;
    });
}
