// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_HPP
#define RESHARD_BENCH_METHOD_HPP

#include "cases.hpp"

#include <boost/mpi/communicator.hpp>

/// \file
/// What a way of redistributing looks like to the benchmark.

namespace bench {

/// One rank's arrays of a case.
struct arrays {
    double const* source = nullptr;
    double* target = nullptr;
};

/// What one rank sends to others in one run.
struct traffic {
    index_t bytes = 0;
    index_t messages = 0;
};

/// A way of redistributing, prepared for one case and arrays that stay where they are.
class method {
public:
    virtual ~method() = default;

    /// Fills the target. Every rank calls it.
    virtual void run() = 0;

    /// What the method asks MPI to send, where it does not call `MPI_Isend` itself.
    virtual traffic sent() const { return {}; }
};

/// Where a method runs.
struct setting {
    boost::mpi::communicator world;
    redistribution_case const& moved;
    arrays memory;

    rank_part const& source_part() const {
        return moved.source[static_cast<std::size_t>(world.rank())];
    }
    rank_part const& target_part() const {
        return moved.target[static_cast<std::size_t>(world.rank())];
    }
};

} // namespace bench

#endif
