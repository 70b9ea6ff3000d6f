// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_RANKS_HPP
#define RESHARD_MPI_NODE_RANKS_HPP

#include <reshard/core/error.hpp>
#include <reshard/mpi/mpi_group.hpp>

#include <boost/mpi/communicator.hpp>
#include <mpi.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

/// \file
/// Which ranks share a node.

namespace reshard {

/// The ranks of a node.
struct node_ranks {
    mpi_group group;
    std::vector<int> numbers; ///< in the group that was divided, ascending
};

/// How many ranks of a machine are taken for a node: as many as given, or, where that is 0, as the
/// environment variable RESHARD_RANKS_PER_NODE says; 0: all.
///
/// \throws error with errc::usage for a variable that is no number of ranks
inline int ranks_per_node(int given) {
    char const* const text = std::getenv("RESHARD_RANKS_PER_NODE");
    if (given != 0 || !text)
        return given;
    int count = 0;
    auto const [end, problem] = std::from_chars(text, text + std::strlen(text), count);
    if (problem != std::errc() || *end != '\0' || count < 1)
        fail(errc::usage, "RESHARD_RANKS_PER_NODE is '" + std::string(text) +
                              "'; it must be a number of ranks, 1 or more");
    return count;
}

/// The ranks that share memory with this one, `per_node` of them at most; 0: all.
///
/// \par Collective every rank of the group, with the same `per_node`
inline node_ranks node_of(mpi_group const& world, int per_node) {
    MPI_Comm all = MPI_COMM_NULL;
    MPI_Comm_split_type(world.base(), MPI_COMM_TYPE_SHARED, world.rank(), MPI_INFO_NULL, &all);
    boost::mpi::communicator const machine(all, boost::mpi::comm_take_ownership);
    mpi_group node{per_node == 0 ? machine
                                 : machine.split(machine.rank() / per_node, machine.rank())};
    std::vector<int> numbers;
    for (std::string const& text : node.all_gather(std::to_string(world.rank())))
        numbers.push_back(std::stoi(text));
    return {std::move(node), std::move(numbers)};
}

} // namespace reshard

#endif
