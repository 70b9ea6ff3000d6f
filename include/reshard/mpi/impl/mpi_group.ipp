// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_MPI_GROUP_IPP
#define RESHARD_MPI_IMPL_MPI_GROUP_IPP

#include <reshard/mpi/mpi_group.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/holder.hpp>

#include <boost/assert.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/intercommunicator.hpp>
#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
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

RESHARD_DECL bool wait_limit::hears(int& caller) const {
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, world_, &there, &status);
    caller = there ? status.MPI_SOURCE : MPI_PROC_NULL;
    return there;
}

RESHARD_DECL bool wait_limit::is_over(double waited) const {
    int caller = 0;
    return (seconds_ > 0 && waited > seconds_) || hears(caller);
}

/// The numbers of the ranks that are not `heard`.
inline std::string ranks_missing(std::vector<bool> const& heard) {
    std::string list;
    for (std::size_t rank = 0; rank < heard.size(); ++rank)
        if (!heard[rank])
            list += (list.empty() ? "" : ", ") + std::to_string(rank);
    return list;
}

RESHARD_DECL void wait_limit::give_up(double waited) const {
    std::vector<bool> heard(static_cast<std::size_t>(world_.size()));
    heard[static_cast<std::size_t>(world_.rank())] = true;
    request_memory<std::vector<MPI_Request>> calls;
    for (int peer = 0; peer < world_.size(); ++peer)
        if (peer != world_.rank())
            MPI_Isend(nullptr, 0, MPI_BYTE, peer, tag, world_, &calls->emplace_back());
    double const last = MPI_Wtime() + answer_seconds;
    while (std::ranges::count(heard, false) > 0 && MPI_Wtime() < last)
        if (int caller = 0; hears(caller)) {
            MPI_Recv(nullptr, 0, MPI_BYTE, caller, tag, world_, MPI_STATUS_IGNORE);
            heard[static_cast<std::size_t>(caller)] = true;
        }
    std::string const missing = ranks_missing(heard);
    fail(errc::deadline, "rank ", world_.rank(), " of ", world_.size(), " waited ",
         static_cast<long>(waited * 1000), " ms for ",
         missing.empty() ? "others, which have given up waiting"
                         : "ranks that do not answer: " + missing +
                               "; they are stopped, at work or in another call",
         "; end the job with MPI_Abort, and give options.deadline more time if it was short");
}

RESHARD_DECL bounded_wait::bounded_wait(wait_limit const& limit)
    : limit_(limit), began_(MPI_Wtime()) {}

RESHARD_DECL void bounded_wait::restart() { began_ = MPI_Wtime(); }

RESHARD_DECL void bounded_wait::check() {
    double const waited = MPI_Wtime() - began_;
    if (limit_.is_over(waited))
        limit_.give_up(waited);
}

/// Returns once `request` is complete.
///
/// \throws error with errc::deadline
inline void finish(MPI_Request& request, wait_limit const& limit) {
    bounded_wait wait(limit);
    for (int done = 0; !done; wait.look())
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/// The lengths of all ranks' texts and their limits, while they are gathered.
struct gathered_lengths {
    std::uint64_t told[2];
    std::vector<std::uint64_t> all;
};

/// A round of texts while it is gathered.
struct gathered_round {
    std::string mine;
    std::vector<int> counts, offsets;
    std::vector<char> all;
};

} // namespace reshard::detail

namespace reshard {

RESHARD_DECL mpi_group mpi_group::with_deadline(detail::wait_duration longest) const {
    return longest.seconds > 0 ? mpi_group(world_, count_limit_, {limit_.world(), longest.seconds})
                               : *this;
}

RESHARD_DECL mpi_group mpi_group::duplicate_of(mpi_group const& world) {
    detail::request_memory<MPI_Comm> duplicate(MPI_COMM_NULL);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(world.world_, &*duplicate, &request);
    detail::finish(request, world.limit_);
    duplicate.set_finished();
    MPI_Comm_set_errhandler(*duplicate, MPI_ERRORS_ARE_FATAL);
    return world.subgroup({*duplicate, boost::mpi::comm_take_ownership});
}

RESHARD_DECL std::vector<std::string> mpi_group::all_gather(std::string const& bytes) const {
    std::vector<std::uint64_t> const lengths = all_lengths(bytes.size());
    std::vector<std::string> all(lengths.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i].reserve(lengths[i]);
    detail::gather_rounds const rounds(lengths, count_limit_);
    for (std::uint64_t round = 0; round < rounds.size(); ++round)
        gather_round(rounds, round, bytes, all);
    return all;
}

RESHARD_DECL std::vector<std::uint64_t> mpi_group::all_lengths(std::size_t mine) const {
    detail::request_memory<detail::gathered_lengths> memory(
        {{mine, count_limit_}, std::vector<std::uint64_t>(2 * static_cast<std::size_t>(size()))});
    std::vector<std::uint64_t> const& numbers = memory->all;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(memory->told, 2, MPI_UINT64_T, memory->all.data(), 2, MPI_UINT64_T, world_,
                   &request);
    detail::finish(request, limit_);
    memory.set_finished();
    std::vector<std::uint64_t> lengths;
    for (std::size_t i = 0; i < numbers.size(); i += 2) {
        if (numbers[i + 1] != numbers[1])
            fail(errc::ranks_disagree, "rank 0 lets a call of MPI count up to ", numbers[1],
                 ", and rank ", i / 2, " up to ", numbers[i + 1],
                 "; every rank must give mpi_group the same limit");
        lengths.push_back(numbers[i]);
    }
    return lengths;
}

RESHARD_DECL void mpi_group::gather_round(detail::gather_rounds const& rounds, std::uint64_t round,
                                          std::string const& bytes,
                                          std::vector<std::string>& all) const {
    detail::request_memory<detail::gathered_round> memory;
    auto const me = static_cast<std::size_t>(rank());
    std::vector<int> const& counts = memory->counts = rounds.counts(round);
    std::exclusive_scan(counts.begin(), counts.end(), std::back_inserter(memory->offsets), 0);
    memory->mine = bytes.substr(rounds.offset(me, round), static_cast<std::size_t>(counts[me]));
    memory->all.resize(rounds.bytes(round));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgatherv(memory->mine.data(), counts[me], MPI_BYTE, memory->all.data(), counts.data(),
                    memory->offsets.data(), MPI_BYTE, world_, &request);
    detail::finish(request, limit_);
    memory.set_finished();
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i].append(memory->all.data() + memory->offsets[i], static_cast<std::size_t>(counts[i]));
}

} // namespace reshard

namespace reshard::detail {

RESHARD_DECL int ranks_per_node(int given) {
    char const* const text = std::getenv("RESHARD_RANKS_PER_NODE");
    if (given != 0 || !text)
        return given;
    holder_t count = 0;
    auto const [end, problem] = std::from_chars(text, text + std::strlen(text), count);
    if (problem != std::errc() || *end != '\0' || count < 1 || count > most_ranks_named)
        fail(errc::usage, "RESHARD_RANKS_PER_NODE: '", text, "' is not a whole number from 1 to ",
             most_ranks_named);
    return static_cast<int>(count);
}

RESHARD_DECL node_ranks node_of(mpi_group const& world, int per_node) {
    MPI_Comm all = MPI_COMM_NULL;
    MPI_Comm_split_type(world.base(), MPI_COMM_TYPE_SHARED, world.rank(), MPI_INFO_NULL, &all);
    boost::mpi::communicator const machine(all, boost::mpi::comm_take_ownership);
    mpi_group node = world.subgroup(
        per_node == 0 ? machine : machine.split(machine.rank() / per_node, machine.rank()));
    std::vector<int> numbers = gather_values(node, world.rank());
    return {std::move(node), std::move(numbers)};
}

RESHARD_DECL node_ranks agreed_node_of(mpi_group const& ranks) {
    int per_node = 0;
    auto const problem = attempt([&] { per_node = ranks_per_node(0); });
    agree_to_run(ranks, "find the ranks of a node", {"RESHARD_RANKS_PER_NODE", per_node}, problem);
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

namespace reshard {

RESHARD_DECL mpi_group both_sides(boost::mpi::intercommunicator const& between, bool is_first) {
    return between.merge(!is_first); // those with true stand behind
}

} // namespace reshard

#endif
