// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PYTHON_MPI_BOOST_MPI_INTERCOMMUNICATOR_HPP
#define RESHARD_PYTHON_MPI_BOOST_MPI_INTERCOMMUNICATOR_HPP

#include <boost/mpi/communicator.hpp>

namespace boost::mpi {

/// Two groups of processes.
class intercommunicator : private communicator {
public:
    using communicator::communicator;

    /// \param is_high whether the ranks of this group come last
    communicator merge(bool is_high) const {
        MPI_Comm value = MPI_COMM_NULL;
        MPI_Intercomm_merge(*this, is_high, &value);
        return {value, comm_take_ownership};
    }
};

} // namespace boost::mpi

#endif
