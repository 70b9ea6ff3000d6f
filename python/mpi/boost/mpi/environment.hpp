// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PYTHON_MPI_BOOST_MPI_ENVIRONMENT_HPP
#define RESHARD_PYTHON_MPI_BOOST_MPI_ENVIRONMENT_HPP

#include <mpi.h>

namespace boost::mpi {

/// mpi4py starts and ends MPI.
struct environment {
    static void abort(int status) { MPI_Abort(MPI_COMM_WORLD, status); }
};

} // namespace boost::mpi

#endif
