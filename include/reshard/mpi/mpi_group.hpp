// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_MPI_GROUP_HPP
#define RESHARD_MPI_MPI_GROUP_HPP

#include <reshard/core/error.hpp>
#include <reshard/group/group.hpp>
#include <reshard/mpi/gather_rounds.hpp>

#include <boost/assert.hpp>
#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/collectives/all_gatherv.hpp>
#include <boost/mpi/communicator.hpp>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A Boost.MPI communicator as a group.

namespace reshard {

/// The processes of a communicator.
class mpi_group {
public:
    /// Far below what an `int` counts; `all_gather` needs as many bytes of memory beside the texts.
    static constexpr std::size_t default_count_limit = std::size_t{64} << 20;

    /// \param count_limit the most that one call of MPI counts, of bytes or of requests: what is more
    ///                    takes several calls. A redistribution has 128 requests under way, and sends
    ///                    one element at least
    /// \pre `0 < count_limit`, and it fits an `int`; ranks that differ learn it when they gather
    mpi_group(boost::mpi::communicator const& world, std::size_t count_limit = default_count_limit)
        : world_(world), count_limit_(count_limit) {
        BOOST_ASSERT(0 < count_limit && std::in_range<int>(count_limit));
    }

    /// The same processes and limit with messages of their own, so that none is taken for another's.
    ///
    /// Errors of MPI end the job there, as MPI does by itself: in the midst of a transfer, peers would
    /// wait for ever for a rank that went on.
    ///
    /// \par Collective every rank of `world`
    static mpi_group duplicate_of(mpi_group const& world) {
        boost::mpi::communicator const duplicate(world.world_, boost::mpi::comm_duplicate);
        MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_ARE_FATAL);
        return {duplicate, world.count_limit_};
    }

    int rank() const { return world_.rank(); }
    int size() const { return world_.size(); }

    /// The texts of all ranks, in their order, of whatever lengths.
    ///
    /// MPI counts in `int`; here the lengths have 64 bits, and the bytes move in rounds.
    ///
    /// \par Collective every rank of the communicator, in the same order
    /// \throws error with errc::ranks_disagree, on every rank alike, for different limits
    std::vector<std::string> all_gather(std::string const& bytes) const {
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

    boost::mpi::communicator const& base() const { return world_; }

    /// The most that one call of MPI counts.
    std::size_t count_limit() const { return count_limit_; }

private:
    /// Each rank tells its limit, too: with another one it would wait for rounds that nobody makes.
    std::vector<std::uint64_t> all_lengths(std::size_t mine) const {
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
    std::size_t count_limit_;
};

static_assert(group<mpi_group>);

} // namespace reshard

#endif
