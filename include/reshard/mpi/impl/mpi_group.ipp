// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_MPI_GROUP_IPP
#define RESHARD_MPI_IMPL_MPI_GROUP_IPP

#include <reshard/mpi/mpi_group.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/collectives/all_gatherv.hpp>
#include <mpi.h>

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

#endif
