// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_MPI_GROUP_HPP
#define RESHARD_MPI_MPI_GROUP_HPP

#include <reshard/group/group.hpp>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/serialization/string.hpp>

/// \file
/// A Boost.MPI communicator as a group.

namespace reshard {

/// The processes of a communicator.
class mpi_group {
public:
    mpi_group(boost::mpi::communicator const& world) : world_(world) {}

    /// The same processes with messages of their own, so that none is taken for another's.
    ///
    /// \par Collective every rank of `world`
    static mpi_group duplicate_of(boost::mpi::communicator const& world) {
        return {boost::mpi::communicator(world, boost::mpi::comm_duplicate)};
    }

    int rank() const { return world_.rank(); }
    int size() const { return world_.size(); }

    std::vector<std::string> all_gather(std::string const& bytes) const {
        std::vector<std::string> all;
        boost::mpi::all_gather(world_, bytes, all);
        return all;
    }

    boost::mpi::communicator const& base() const { return world_; }

private:
    boost::mpi::communicator world_;
};

static_assert(group<mpi_group>);

} // namespace reshard

#endif
