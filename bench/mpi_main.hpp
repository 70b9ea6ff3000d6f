// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_MPI_MAIN_HPP
#define RESHARD_BENCH_MPI_MAIN_HPP

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

/// \file
/// The main function of a benchmark over MPI.

namespace bench {

/// Returns the exit status `work(world)`. One rank prints help, and errors in options. Any other
/// error ends all ranks.
template <class Work>
int mpi_main(char const* name, CLI::App const& program, int count, char** words, Work const& work) {
    boost::mpi::environment const environment(count, words);
    boost::mpi::communicator const world;
    try {
        return work(world);
    } catch (CLI::ParseError const& problem) {
        return world.rank() == 0 ? program.exit(problem) : problem.get_exit_code();
    } catch (std::exception const& problem) {
        std::fprintf(stderr, "%s: rank %d: %s\n", name, world.rank(), problem.what());
        boost::mpi::environment::abort(1);
    }
    return 1;
}

} // namespace bench

#endif
