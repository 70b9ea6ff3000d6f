// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Measures redistribution, beside the bound and beside hand-written code. Run it under mpiexec.

#include "cases.hpp"
#include "method_arena.hpp"
#include "method_bound.hpp"
#if RESHARD_BENCH_HAS_FFTW
#include "method_fftw.hpp"
#endif
#include "method_fresh.hpp"
#include "method_packed.hpp"
#if RESHARD_BENCH_HAS_PETSC
#include "method_petsc.hpp"
#endif
#include "method_private.hpp"
#if RESHARD_BENCH_HAS_SCALAPACK
#include "method_scalapack.hpp"
#endif
#include "method_solo.hpp"
#include "method_types.hpp"
#include "mpi_main.hpp"
#include "ratio_plot.hpp"
#include "stage.hpp"

#include <reshard/analysis/simulation.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/format/network_file.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/problem.hpp>

#include <boost/mpi/collectives/broadcast.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace bench;

struct options {
    std::vector<std::string> cases;
    std::vector<std::string> methods;
    int repeat = 7;
    index_t scale = 1;
    std::vector<std::string> targets{"warm", "cold"};
    std::string json;
    std::string plot;
    std::optional<reshard::network> over;
};

/// The methods of this build, without the bound. A new method needs only a line here.
std::vector<contestant> all_methods(redistribution_case const& moved) {
    auto const program = program_of(moved);
    std::vector<contestant> contestants;
    contestants.push_back(contestant_of<types_method>("B1", moved));
    contestants.push_back(contestant_of<packed_method>("B2", moved));
#if RESHARD_BENCH_HAS_SCALAPACK
    contestants.push_back(contestant_of<scalapack_method>("B3", moved));
#endif
#if RESHARD_BENCH_HAS_PETSC
    contestants.push_back(contestant_of<petsc_method>("B4", moved));
#endif
#if RESHARD_BENCH_HAS_FFTW
    contestants.push_back(contestant_of<fftw_method>("B5", moved));
#endif
    contestants.push_back(contestant_of<arena_method>("arena", moved, program));
    contestants.push_back(contestant_of<fresh_method>("fresh", moved, program));
    using exchange = reshard::node_exchange;
    using ways = reshard::detail::forced_rings;
    auto const add_private = [&](std::string name, exchange on_node, bool relays = false,
                                 std::optional<ways> const& forced = {}) {
        reshard::options const how{.program = program,
                                   .processes_per_node = relays ? 1u : 0u, // each rank is a node
                                   .between_nodes = relays ? reshard::detail::all_relays()
                                                           : reshard::balanced_senders(),
                                   .on_node = on_node};
        contestants.push_back(contestant_of<private_method>(std::move(name), moved, how, forced));
    };
    add_private("private", exchange::chosen);
    add_private("ring", exchange::rings);
    add_private("cached", exchange::rings, false, ways{});
    add_private("streamed", exchange::rings, false, ways{{.streams = true}});
    add_private("read", exchange::rings, false, ways{{.streams = true, .least_read = 4096}});
    add_private("network", exchange::messages);
    add_private("relayed", exchange::messages, true);
    add_private("relayed-ring", exchange::rings, true);
    contestants.push_back(contestant_of<solo_method>("solo", moved, program));
    return contestants;
}

/// True for methods that are measured if none was requested. The variants that `private` chooses
/// from are measured only by request, and so are `relayed` and `relayed-ring`, which differ only
/// for replicas. `fresh` is measured only for cold targets.
bool is_shown(std::string const& name, redistribution_case const& moved, bool warm) {
    constexpr std::string_view on_request[] = {"ring", "cached",  "streamed",
                                               "read", "relayed", "relayed-ring"};
    if (std::ranges::count(on_request, name) > 0)
        return false;
    return (name != "solo" || moved.ranks == 1) && (name != "fresh" || !warm);
}

/// The two variants of the bound, then the requested methods.
std::vector<contestant> contestants_of(options const& chosen, redistribution_case const& moved,
                                       bool warm) {
    std::vector<contestant> contestants;
    for (bool const streaming : {false, true}) {
        contestants.push_back(contestant_of<bound_method>("B0", moved, streaming));
        contestants.back().is_bound = true;
    }
    auto const& asked = chosen.methods;
    for (contestant& contestant : all_methods(moved))
        if (asked.empty() ? is_shown(contestant.name, moved, warm)
                          : std::count(asked.begin(), asked.end(), contestant.name) > 0)
            contestants.push_back(std::move(contestant));
    return contestants;
}

std::vector<std::string> names_of_cases() {
    std::vector<std::string> names;
    for (named_case const& named_case : all_cases())
        names.emplace_back(named_case.name);
    return names;
}

std::vector<std::string> names_of_methods() {
    std::vector<std::string> names;
    for (contestant const& contestant : all_methods(*make_case(all_cases()[0], 1, 1)))
        names.push_back(contestant.name);
    return names;
}

std::string help_of_methods() {
    return "Which methods besides B0. If not given: all except ring, cached, streamed and "
           "read, from which private chooses on a node, and relayed and relayed-ring, in which "
           "ranks pass on bytes that several ranks need, by messages or through rings; fresh "
           "only for cold targets, and solo only on one rank. B3, B4 and B5 need a build with "
           "ScaLAPACK, PETSc and FFTW";
}

void read(CLI::App& program, int count, char** words, options& chosen) {
    program.add_option("--case", chosen.cases, "Which cases; all if not given")
        ->check(CLI::IsMember(names_of_cases()));
    program.add_option("--method", chosen.methods, help_of_methods())
        ->check(CLI::IsMember(names_of_methods()));
    program.add_option("--repeat", chosen.repeat, "Repetitions")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    program
        .add_option("--scale", chosen.scale, "Divide the first extent by this, for a quick look")
        ->check(CLI::Range(1, 512))
        ->capture_default_str();
    program.add_option("--target", chosen.targets, "warm or cold; both if not given")
        ->check(CLI::IsMember(std::vector<std::string>{"warm", "cold"}));
    program.add_option("--json", chosen.json, "Write the numbers to this file, too");
    program.add_option_function<std::string>(
        "--network", [&](std::string const& path) { chosen.over = reshard::read_network(path); },
        "Also show how long `private` takes according to this file of reshard measure-network, "
        "as method model");
    program.add_option("--plot", chosen.plot, "Draw the ratios to B0 in this file, as SVG");
    program.parse(count, words);
    if (chosen.cases.empty())
        chosen.cases = names_of_cases();
}

/// True if this library sends no messages in a case that needs none.
bool is_silent(measurement const& measurement, index_t needed) {
    bool const silent = needed > 0 || measurement.sent.messages == 0;
    if (!silent)
        std::fprintf(stderr, "%s: %s sent %lld messages, but none is needed\n",
                     measurement.case_name.c_str(), measurement.method.c_str(),
                     static_cast<long long>(measurement.sent.messages));
    return silent;
}

/// The layout of one side: on grids if the case has grids, because their runs are longer.
reshard::layout known_layout(std::vector<case_tensor> const& tensors, int ranks) {
    auto on_grids = layout_of(tensors);
    return on_grids ? std::move(*on_grids) : listed_layout(tensors, ranks);
}

/// The simulated time of a case's plan over a network, in the form of a measurement.
measurement simulated(redistribution_case const& moved, reshard::network const& over,
                      measurement const& bound) {
    auto const source = known_layout(moved.sources, moved.ranks);
    auto const target = known_layout(moved.targets, moved.ranks);
    auto const wanted = reshard::catalog_of(target);
    auto program = program_of(moved);
    if (!program)
        program = reshard::identity_mapping(reshard::catalog_of(source), &wanted);
    auto const problem = reshard::problem_of(*program, source, target);
    reshard::plan_flows const flows(problem, {.processes_per_node = over.ranks_per_node,
                                              .between_nodes = reshard::balanced_senders()});
    measurement result = bound;
    result.method = "model";
    result.seconds = {reshard::simulate(flows, over).seconds};
    return result;
}

/// Measures one case. False if an element or the number of messages was wrong.
bool measure(boost::mpi::communicator const& world, redistribution_case const& moved,
             options const& chosen, std::vector<measurement>& rows) {
    index_t const needed = boost::mpi::all_reduce(
        world, least_traffic(moved, world.rank()).messages, std::plus<index_t>());
    stage stage(world, moved);
    bool right = true;
    for (std::string const& target : chosen.targets) {
        bool const warm = target == "warm";
        auto const contestants = contestants_of(chosen, moved, warm);
        std::vector<measurement> results = warm ? stage.measure_warm(contestants, chosen.repeat)
                                                : stage.measure_cold(contestants, chosen.repeat);
        choose_bound(results);
        if (chosen.over && warm)
            results.push_back(simulated(moved, *chosen.over, results[0]));
        for (measurement const& measurement : results) {
            rows.push_back(measurement);
            right &= !warm || is_silent(measurement, needed);
            if (world.rank() == 0)
                print(measurement);
        }
    }
    return boost::mpi::all_reduce(world, right && stage.all_right(), std::logical_and<bool>());
}

void write_json(std::string const& path, std::vector<measurement> const& rows) {
    std::vector<std::string> objects;
    for (measurement const& measurement : rows)
        objects.push_back(to_json(measurement));
    write_json_list(path, objects);
}

/// True if rank 0 can write its files, whose content stays. Checked before the first measurement.
bool can_write(boost::mpi::communicator const& world, options const& chosen) {
    bool can = true;
    if (world.rank() == 0)
        for (std::string const& path : {chosen.json, chosen.plot})
            if (can && !path.empty() && !std::ofstream(path, std::ios::app)) {
                std::fprintf(stderr, "redistribute: cannot write '%s': %s\n", path.c_str(),
                             std::strerror(errno));
                can = false;
            }
    boost::mpi::broadcast(world, can, 0);
    return can;
}

/// Prints this rank's measurement by which `private` chooses its way.
void print_ways(reshard::detail::measured_ways const& ways) {
    auto const speed = [](double seconds) {
        return static_cast<double>(reshard::detail::measured_ways::bytes) / seconds / 1e9;
    };
    std::printf(
        "rank 0 measured, GB/s: slots in caches %.1f, slots in memory %.1f, reading others' "
        "memory %.1f, in runs of 16 KiB %.1f (inf: not permitted)\n",
        speed(ways.in_cache), speed(ways.streamed), speed(ways.read_whole), speed(ways.read_rows));
}

bool run(boost::mpi::communicator const& world, options const& chosen) {
    std::vector<measurement> rows;
    bool all_right = true;
    warm_up(world);
    if (world.rank() == 0)
        print_head();
    for (named_case const& named_case : all_cases()) {
        if (!std::count(chosen.cases.begin(), chosen.cases.end(), named_case.name))
            continue;
        if (auto const moved = make_case(named_case, world.size(), chosen.scale))
            all_right &= measure(world, *moved, chosen, rows);
        else if (world.rank() == 0)
            std::printf("%-10s  %5d  does not support that number of ranks\n", named_case.name,
                        world.size());
    }
    if (auto const kept = reshard::detail::kept_measurement(world); kept && world.rank() == 0)
        print_ways(*kept);
    if (world.rank() == 0 && !chosen.json.empty())
        write_json(chosen.json, rows);
    if (world.rank() == 0 && !chosen.plot.empty())
        ratio_plot(rows).write(chosen.plot);
    return all_right;
}

} // namespace

int main(int count, char** words) {
    CLI::App program("Measures redistribution over MPI, and checks every element.");
    options chosen;
    return mpi_main("redistribute", program, count, words,
                    [&](boost::mpi::communicator const& world) {
                        read(program, count, words, chosen);
                        if (!can_write(world, chosen))
                            return 2;
                        return run(world, chosen) ? 0 : 1;
                    });
}
