// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/joined_programs.hpp>

#include <reshard.hpp>
#include <reshard/mpi/redistribute.hpp>

#include <boost/mpi/environment.hpp>
#include <mpi.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

// One of two jobs, "first" or "second", that meet at a file: the first one has a vector, a part on
// each rank, and every rank of the second one wants it whole. A "silent" one is a second one that
// says when it is here, answers, does not connect, and ends with its input.
//
//     joined_programs WHICH FILE SECONDS

namespace {

using namespace reshard;

bool hand_over(mpi_group const& side, std::string const& file, bool is_first, double seconds) {
    mpi_group const group = joined_programs(side, file, is_first, seconds);
    index_t const sources = is_first ? side.size() : group.size() - side.size();
    std::vector<float> part(2), whole_vector(static_cast<std::size_t>(2 * sources));
    const_state_dict have;
    state_dict want;
    if (is_first) {
        part = {static_cast<float>(2 * side.rank()), static_cast<float>(2 * side.rank() + 1)};
        have.add({"v", data_type::f32, {2 * sources}, {{2 * side.rank()}, {2}}}, part);
    } else {
        want.add(replicated("v", data_type::f32, {2 * sources}), whole_vector);
    }
    redistribute(group, have, want);
    for (std::size_t i = 0; !is_first && i < whole_vector.size(); ++i)
        if (whole_vector[i] != static_cast<float>(i))
            return false;
    return true;
}

bool is_silent = false;

} // namespace

// In front of MPI's own.
int MPI_Comm_connect(char const* port, MPI_Info info, int root, MPI_Comm side, MPI_Comm* both) {
    if (is_silent) {
        std::cin.get();
        std::_Exit(0);
    }
    return PMPI_Comm_connect(port, info, root, side, both);
}

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    if (argc != 4)
        return 2;
    is_silent = std::string(argv[1]) == "silent";
    bool const is_first = std::string(argv[1]) == "first";
    if (is_silent)
        std::cout << "here" << std::endl;
    try {
        bool const is_right = hand_over(mpi_group(world), argv[2], is_first, std::stod(argv[3]));
        std::cout << (is_right ? "has all" : "FAILED: elements are wrong") << std::endl;
        return is_right ? 0 : 1;
    } catch (error const& problem) {
        std::cout << name(problem.code()) << ": " << problem.what() << std::endl;
        return 3;
    }
}
