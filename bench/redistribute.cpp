// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// How long redistribution takes, beside the bound and what one would write by hand. Run under mpiexec.

#include "method_bound.hpp"
#include "method_packed.hpp"
#include "method_reshard.hpp"
#include "method_types.hpp"
#include "stage.hpp"

#include <boost/mpi/environment.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace bench;

struct options {
    std::vector<std::string> cases;
    std::vector<std::string> methods;
    int repeat = 7;
    index_t scale = 1;
    std::string json;
};

template <class Method, class... Arguments>
contestant contestant_of(std::string name, bool is_checked, Arguments... arguments) {
    return {std::move(name),
            [=](setting const& where) { return std::make_unique<Method>(where, arguments...); },
            is_checked};
}

/// The two variants of the bound, then the methods that were asked for.
std::vector<contestant> contestants_of(options const& chosen) {
    std::vector<contestant> all;
    all.push_back(contestant_of<bound_method>("memcpy", false, false));
    all.push_back(contestant_of<bound_method>("streaming", false, true));
    for (contestant& one : std::vector<contestant>{contestant_of<types_method>("B1", true),
                                                   contestant_of<packed_method>("B2", true),
                                                   contestant_of<reshard_method>("reshard", true)})
        if (chosen.methods.empty() ||
            std::count(chosen.methods.begin(), chosen.methods.end(), one.name))
            all.push_back(std::move(one));
    return all;
}

void read(CLI::App& program, int count, char** words, options& chosen) {
    std::vector<std::string> const cases(std::begin(case_names), std::end(case_names));
    program.add_option("--case", chosen.cases, "Which cases; all if not given")
        ->check(CLI::IsMember(cases));
    program.add_option("--method", chosen.methods, "Which methods beside B0; all if not given")
        ->check(CLI::IsMember(std::vector<std::string>{"B1", "B2", "reshard"}));
    program.add_option("--repeat", chosen.repeat, "Repetitions")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    program
        .add_option("--scale", chosen.scale, "Divide the first extent by this, for a quick look")
        ->check(CLI::Range(1, 512))
        ->capture_default_str();
    program.add_option("--json", chosen.json, "Write the numbers to this file, too");
    program.parse(count, words);
    if (chosen.cases.empty())
        chosen.cases = cases;
}

/// Measures one case; false where an element was wrong.
bool measure(boost::mpi::communicator const& world, redistribution_case const& moved,
             options const& chosen, std::vector<std::string>& rows) {
    std::vector<contestant> const contestants = contestants_of(chosen);
    stage place(world, moved);
    for (bool const warm : {true, false}) {
        std::vector<measurement> results = warm ? place.measure_warm(contestants, chosen.repeat)
                                                : place.measure_cold(contestants, chosen.repeat);
        choose_bound(results);
        for (measurement const& one : results) {
            rows.push_back(to_json(moved, one, results[0].median()));
            if (world.rank() == 0)
                print(moved, one, results[0].median());
        }
    }
    return boost::mpi::all_reduce(world, place.all_right(), std::logical_and<bool>());
}

/// Lets MPI set up what it keeps, so that no method is charged for it.
void warm_up(boost::mpi::communicator const& world) {
    constexpr int count = 1 << 18;
    auto const ranks = static_cast<std::size_t>(world.size());
    std::vector<double> out(ranks * count), in(ranks * count);
    for (int i = 0; i < 3; ++i)
        MPI_Alltoall(out.data(), count, MPI_DOUBLE, in.data(), count, MPI_DOUBLE, world);
}

bool run(boost::mpi::communicator const& world, options const& chosen) {
    std::vector<std::string> rows;
    bool all_right = true;
    warm_up(world);
    if (world.rank() == 0)
        print_head();
    for (std::string const& name : chosen.cases) {
        if (is_possible(name, world.size()))
            all_right &= measure(world, make_case(name, world.size(), chosen.scale), chosen, rows);
        else if (world.rank() == 0)
            std::printf("%-9s  %5d  needs an even number of ranks\n", name.c_str(), world.size());
    }
    if (world.rank() == 0 && !chosen.json.empty())
        write_json_list(chosen.json, rows);
    return all_right;
}

} // namespace

int main(int count, char** words) {
    boost::mpi::environment const environment(count, words);
    boost::mpi::communicator const world;
    CLI::App program("Measures redistribution over MPI, and checks every element.");
    options chosen;
    try {
        read(program, count, words, chosen);
        return run(world, chosen) ? 0 : 1;
    } catch (CLI::ParseError const& problem) {
        return world.rank() == 0 ? program.exit(problem) : problem.get_exit_code();
    } catch (std::exception const& problem) {
        std::fprintf(stderr, "redistribute: rank %d: %s\n", world.rank(), problem.what());
        boost::mpi::environment::abort(1);
    }
}
