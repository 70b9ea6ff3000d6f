// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_SENT_MESSAGES_HPP
#define RESHARD_BENCH_SENT_MESSAGES_HPP

#include "method.hpp"

#include <mpi.h>

/// \file
/// Counts the messages that this process really passes to `MPI_Isend`, by MPI's profiling
/// interface.
///
/// Only one source file of a program may include this header, because it defines `MPI_Isend`.

namespace bench {

/// The messages sent so far.
inline traffic all_sent;

} // namespace bench

extern "C" int MPI_Isend(void const* bytes, int count, MPI_Datatype type, int target, int tag,
                         MPI_Comm world, MPI_Request* request) {
    int size = 0;
    MPI_Type_size(type, &size);
    ++bench::all_sent.messages;
    bench::all_sent.bytes += bench::index_t{count} * size;
    return PMPI_Isend(bytes, count, type, target, tag, world, request);
}

#endif
