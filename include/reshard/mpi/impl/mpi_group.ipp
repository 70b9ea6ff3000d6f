// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_MPI_GROUP_IPP
#define RESHARD_MPI_IMPL_MPI_GROUP_IPP

#include <reshard/mpi/mpi_group.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>

#include <boost/assert.hpp>
#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/collectives/all_gatherv.hpp>
#include <boost/mpi/communicator.hpp>
#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

namespace reshard::detail {

RESHARD_DECL gather_rounds::gather_rounds(std::vector<std::uint64_t> const& lengths,
                                          std::uint64_t round_bytes)
    : round_bytes_(round_bytes) {
    BOOST_ASSERT(0 < round_bytes && round_bytes <= std::numeric_limits<int>::max());
    begins_.reserve(lengths.size() + 1);
    begins_.push_back(0);
    for (std::uint64_t const length : lengths)
        begins_.push_back(begins_.back() + length);
}

RESHARD_DECL std::vector<int> gather_rounds::counts(std::uint64_t round) const {
    std::vector<int> counts;
    counts.reserve(begins_.size());
    for (std::size_t rank = 0; rank + 1 < begins_.size(); ++rank)
        counts.push_back(static_cast<int>(clamped(rank + 1, round) - clamped(rank, round)));
    return counts;
}

RESHARD_DECL std::uint64_t gather_rounds::offset(std::size_t rank, std::uint64_t round) const {
    std::uint64_t const first = std::max(begins_[rank], round * round_bytes_);
    return std::min(first, begins_[rank + 1]) - begins_[rank];
}

RESHARD_DECL std::uint64_t gather_rounds::clamped(std::size_t rank, std::uint64_t round) const {
    std::uint64_t const first = round * round_bytes_;
    return std::clamp(begins_[rank], first, first + round_bytes_) - first;
}

} // namespace reshard::detail

namespace reshard {

RESHARD_DECL mpi_group mpi_group::duplicate_of(mpi_group const& world) {
    boost::mpi::communicator const duplicate(world.world_, boost::mpi::comm_duplicate);
    MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_ARE_FATAL);
    return {duplicate, world.count_limit_};
}

RESHARD_DECL std::vector<std::string> mpi_group::all_gather(std::string const& bytes) const {
    std::vector<std::uint64_t> const lengths = all_lengths(bytes.size());
    std::vector<std::string> all(lengths.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i].reserve(lengths[i]);
    detail::gather_rounds const rounds(lengths, count_limit_);
    std::vector<char> arrived;
    for (std::uint64_t round = 0; round < rounds.size(); ++round)
        gather_round(rounds, round, bytes, arrived, all);
    return all;
}

RESHARD_DECL std::vector<std::uint64_t> mpi_group::all_lengths(std::size_t mine) const {
    std::uint64_t const told[] = {mine, count_limit_};
    std::vector<std::uint64_t> numbers;
    boost::mpi::all_gather(world_, told, 2, numbers);
    std::vector<std::uint64_t> lengths;
    for (std::size_t i = 0; i < numbers.size(); i += 2) {
        if (numbers[i + 1] != numbers[1])
            fail(errc::ranks_disagree, "rank 0 lets a call of MPI count up to " +
                                           std::to_string(numbers[1]) + ", and rank " +
                                           std::to_string(i / 2) + " up to " +
                                           std::to_string(numbers[i + 1]) +
                                           "; every rank must give mpi_group the same limit");
        lengths.push_back(numbers[i]);
    }
    return lengths;
}

RESHARD_DECL void mpi_group::gather_round(detail::gather_rounds const& rounds, std::uint64_t round,
                                          std::string const& bytes, std::vector<char>& arrived,
                                          std::vector<std::string>& all) const {
    std::vector<int> const counts = rounds.counts(round);
    arrived.resize(rounds.bytes(round));
    auto const mine = rounds.offset(static_cast<std::size_t>(rank()), round);
    boost::mpi::all_gatherv(world_, bytes.data() + mine, arrived.data(), counts);
    char const* next = arrived.data();
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].append(next, static_cast<std::size_t>(counts[i]));
        next += counts[i];
    }
}

} // namespace reshard

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
