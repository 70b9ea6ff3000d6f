// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_MPI_GROUP_HPP
#define RESHARD_MPI_MPI_GROUP_HPP

#include <reshard/group/group.hpp>
#include <reshard/mpi/gather_rounds.hpp>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/collectives/all_gatherv.hpp>
#include <boost/mpi/communicator.hpp>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// \file
/// A Boost.MPI communicator as a group.

namespace reshard {

/// The processes of a communicator.
class mpi_group {
public:
    /// What `all_gather` moves at a time, and the memory that it needs beside the texts.
    ///
    /// \par Units bytes
    static constexpr std::size_t default_round_bytes = std::size_t{64} << 20;

    /// \pre `0 < round_bytes`, equal on every rank, and it fits an `int`
    mpi_group(boost::mpi::communicator const& world, std::size_t round_bytes = default_round_bytes)
        : world_(world), round_bytes_(round_bytes) {}

    /// The same processes with messages of their own, so that none is taken for another's.
    ///
    /// Errors of MPI end the job there, as MPI does by itself: in the midst of a transfer, peers would
    /// wait for ever for a rank that went on.
    ///
    /// \par Collective every rank of `world`
    static mpi_group duplicate_of(boost::mpi::communicator const& world) {
        boost::mpi::communicator const duplicate(world, boost::mpi::comm_duplicate);
        MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_ARE_FATAL);
        return {duplicate};
    }

    int rank() const { return world_.rank(); }
    int size() const { return world_.size(); }

    /// The texts of all ranks, in their order, of whatever lengths.
    ///
    /// MPI counts in `int`; here the lengths have 64 bits, and the bytes move in rounds.
    ///
    /// \par Collective every rank of the communicator, in the same order
    std::vector<std::string> all_gather(std::string const& bytes) const {
        std::vector<std::uint64_t> lengths;
        boost::mpi::all_gather(world_, std::uint64_t{bytes.size()}, lengths);
        std::vector<std::string> all(lengths.size());
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i].reserve(lengths[i]);
        detail::gather_rounds const rounds(lengths, round_bytes_);
        std::vector<char> arrived;
        for (std::uint64_t round = 0; round < rounds.size(); ++round)
            gather_round(rounds, round, bytes, arrived, all);
        return all;
    }

    boost::mpi::communicator const& base() const { return world_; }

private:
    void gather_round(detail::gather_rounds const& rounds, std::uint64_t round,
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

    boost::mpi::communicator world_;
    std::size_t round_bytes_;
};

static_assert(group<mpi_group>);

} // namespace reshard

#endif
