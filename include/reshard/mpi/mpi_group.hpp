// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_MPI_GROUP_HPP
#define RESHARD_MPI_MPI_GROUP_HPP

#include <reshard/group/group.hpp>
#include <reshard/mpi/gather_rounds.hpp>

#include <boost/assert.hpp>
#include <boost/mpi/communicator.hpp>

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

    /// \param count_limit the most that one call of MPI counts, of bytes or of requests: what is
    ///                    more takes several calls. A redistribution has 128 requests under way,
    ///                    and sends one element at least
    /// \pre `0 < count_limit`, and it fits an `int`; ranks that differ learn it when they gather
    mpi_group(boost::mpi::communicator const& world, std::size_t count_limit = default_count_limit)
        : world_(world), count_limit_(count_limit) {
        BOOST_ASSERT(0 < count_limit && std::in_range<int>(count_limit));
    }

    /// The same processes and limit with messages of their own, so that none is taken for
    /// another's.
    ///
    /// Errors of MPI end the job there, as MPI does by default: during a transfer, peers would
    /// wait for ever for a rank that went on.
    ///
    /// \par Collective every rank of `world`
    static mpi_group duplicate_of(mpi_group const& world);

    int rank() const { return world_.rank(); }
    int size() const { return world_.size(); }

    /// The texts of all ranks, in their order, of whatever lengths.
    ///
    /// MPI counts in `int`; here the lengths have 64 bits, and the bytes move in rounds.
    ///
    /// \par Collective every rank of the communicator, in the same order
    /// \throws error with errc::ranks_disagree, on every rank alike, for different limits
    std::vector<std::string> all_gather(std::string const& bytes) const;

    boost::mpi::communicator const& base() const { return world_; }

    /// The most that one call of MPI counts.
    std::size_t count_limit() const { return count_limit_; }

private:
    /// Each rank tells its limit, too: with different limits it would wait for rounds that no other
    /// rank makes.
    std::vector<std::uint64_t> all_lengths(std::size_t mine) const;

    void gather_round(detail::gather_rounds const& rounds, std::uint64_t round,
                      std::string const& bytes, std::vector<char>& arrived,
                      std::vector<std::string>& all) const;

    boost::mpi::communicator world_;
    std::size_t count_limit_;
};

static_assert(group<mpi_group>);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/mpi_group.ipp>
#endif

#endif
