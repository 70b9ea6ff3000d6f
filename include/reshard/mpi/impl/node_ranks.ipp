// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_NODE_RANKS_IPP
#define RESHARD_MPI_IMPL_NODE_RANKS_IPP

#include <reshard/mpi/node_ranks.hpp>

#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>

#include <boost/mpi/communicator.hpp>
#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace reshard::detail {

RESHARD_DECL int ranks_per_node(int given) {
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

RESHARD_DECL node_ranks node_of(mpi_group const& world, int per_node) {
    MPI_Comm all = MPI_COMM_NULL;
    MPI_Comm_split_type(world.base(), MPI_COMM_TYPE_SHARED, world.rank(), MPI_INFO_NULL, &all);
    boost::mpi::communicator const machine(all, boost::mpi::comm_take_ownership);
    mpi_group node{per_node == 0 ? machine
                                 : machine.split(machine.rank() / per_node, machine.rank()),
                   world.count_limit()};
    std::vector<int> numbers = gather_values(node, world.rank());
    return {std::move(node), std::move(numbers)};
}

RESHARD_DECL node_ranks agreed_node_of(mpi_group const& ranks) {
    int per_node = 0;
    auto const problem = attempt([&] { per_node = ranks_per_node(0); });
    agree_to_run(ranks, "find the ranks of a node (RESHARD_RANKS_PER_NODE)",
                 static_cast<std::uint64_t>(per_node), problem);
    return node_of(ranks, per_node);
}

/// Of how many ranks each node is, where each has as many, one behind the other, and the last one
/// perhaps fewer; 0 for other nodes, and for a single one, which is no nearer than another.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `agreed_node_of`
inline holder_t equal_ranks_per_node(mpi_group const& ranks) {
    node_ranks const mine = agreed_node_of(ranks);
    auto const all = gather_values(ranks, mine.numbers.front());
    auto const count = static_cast<int>(std::ranges::count(all, all.front()));
    for (int rank = 0; rank < ranks.size(); ++rank)
        if (all[static_cast<std::size_t>(rank)] != rank / count * count)
            return 0;
    return count == ranks.size() ? 0 : static_cast<holder_t>(count);
}

RESHARD_DECL plan_options with_nodes(mpi_group const& ranks, holder_t processes_per_node) {
    if (processes_per_node == 0 && ranks.size() > 1)
        processes_per_node = equal_ranks_per_node(ranks);
    return {.processes_per_node = processes_per_node};
}

} // namespace reshard::detail

#endif
