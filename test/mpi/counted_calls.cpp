// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "support/counted_calls.hpp"

#include <mpi.h>

/// \file
/// Every function of MPI that counts and that the library, or Boost.MPI for it, calls or might call.

using reshard::test::counted_calls;

namespace {

/// The elements of all ranks, one after the other.
long long sum_of(int const* counts, MPI_Comm world) {
    int size = 0;
    PMPI_Comm_size(world, &size);
    long long sum = 0;
    for (int i = 0; i < size; ++i)
        sum += counts[i];
    return sum;
}

/// The elements that `each` means on all ranks.
long long times_size(int each, MPI_Comm world) {
    int size = 0;
    PMPI_Comm_size(world, &size);
    return static_cast<long long>(each) * size;
}

} // namespace

extern "C" {

int MPI_Send(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm world) {
    counted_calls::note("MPI_Send", count);
    return PMPI_Send(data, count, type, to, tag, world);
}

int MPI_Ssend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm world) {
    counted_calls::note("MPI_Ssend", count);
    return PMPI_Ssend(data, count, type, to, tag, world);
}

int MPI_Isend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm world,
              MPI_Request* request) {
    counted_calls::note("MPI_Isend", count);
    return PMPI_Isend(data, count, type, to, tag, world, request);
}

int MPI_Issend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm world,
               MPI_Request* request) {
    counted_calls::note("MPI_Issend", count);
    return PMPI_Issend(data, count, type, to, tag, world, request);
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm world,
             MPI_Status* status) {
    counted_calls::note("MPI_Recv", count);
    return PMPI_Recv(data, count, type, from, tag, world, status);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm world,
              MPI_Request* request) {
    counted_calls::note("MPI_Irecv", count);
    return PMPI_Irecv(data, count, type, from, tag, world, request);
}

int MPI_Mrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
    counted_calls::note("MPI_Mrecv", count);
    return PMPI_Mrecv(data, count, type, message, status);
}

int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request) {
    counted_calls::note("MPI_Imrecv", count);
    return PMPI_Imrecv(data, count, type, message, request);
}

int MPI_Waitany(int count, MPI_Request* requests, int* which, MPI_Status* status) {
    counted_calls::note("MPI_Waitany", count);
    return PMPI_Waitany(count, requests, which, status);
}

int MPI_Testany(int count, MPI_Request* requests, int* which, int* done, MPI_Status* status) {
    counted_calls::note("MPI_Testany", count);
    return PMPI_Testany(count, requests, which, done, status);
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    counted_calls::note("MPI_Waitall", count);
    return PMPI_Waitall(count, requests, statuses);
}

int MPI_Testall(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
    counted_calls::note("MPI_Testall", count);
    return PMPI_Testall(count, requests, done, statuses);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm world) {
    counted_calls::note("MPI_Bcast", count);
    return PMPI_Bcast(data, count, type, root, world);
}

int MPI_Reduce(void const* data, void* result, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm world) {
    counted_calls::note("MPI_Reduce", count);
    return PMPI_Reduce(data, result, count, type, op, root, world);
}

int MPI_Allreduce(void const* data, void* result, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm world) {
    counted_calls::note("MPI_Allreduce", count);
    return PMPI_Allreduce(data, result, count, type, op, world);
}

int MPI_Gather(void const* data, int count, MPI_Datatype type, void* all, int each,
               MPI_Datatype type_of_all, int root, MPI_Comm world) {
    counted_calls::note("MPI_Gather", times_size(count, world));
    return PMPI_Gather(data, count, type, all, each, type_of_all, root, world);
}

int MPI_Gatherv(void const* data, int count, MPI_Datatype type, void* all, int const* counts,
                int const* places, MPI_Datatype type_of_all, int root, MPI_Comm world) {
    counted_calls::note("MPI_Gatherv", count);
    return PMPI_Gatherv(data, count, type, all, counts, places, type_of_all, root, world);
}

int MPI_Allgather(void const* data, int count, MPI_Datatype type, void* all, int each,
                  MPI_Datatype type_of_all, MPI_Comm world) {
    counted_calls::note("MPI_Allgather", times_size(count, world));
    return PMPI_Allgather(data, count, type, all, each, type_of_all, world);
}

int MPI_Allgatherv(void const* data, int count, MPI_Datatype type, void* all, int const* counts,
                   int const* places, MPI_Datatype type_of_all, MPI_Comm world) {
    counted_calls::note("MPI_Allgatherv", sum_of(counts, world));
    return PMPI_Allgatherv(data, count, type, all, counts, places, type_of_all, world);
}

int MPI_Iallgather(void const* data, int count, MPI_Datatype type, void* all, int each,
                   MPI_Datatype type_of_all, MPI_Comm world, MPI_Request* request) {
    counted_calls::note("MPI_Iallgather", times_size(count, world));
    return PMPI_Iallgather(data, count, type, all, each, type_of_all, world, request);
}

int MPI_Iallgatherv(void const* data, int count, MPI_Datatype type, void* all, int const* counts,
                    int const* places, MPI_Datatype type_of_all, MPI_Comm world,
                    MPI_Request* request) {
    counted_calls::note("MPI_Iallgatherv", sum_of(counts, world));
    return PMPI_Iallgatherv(data, count, type, all, counts, places, type_of_all, world, request);
}

int MPI_Alltoall(void const* data, int count, MPI_Datatype type, void* all, int each,
                 MPI_Datatype type_of_all, MPI_Comm world) {
    counted_calls::note("MPI_Alltoall", times_size(count, world));
    return PMPI_Alltoall(data, count, type, all, each, type_of_all, world);
}

int MPI_Alltoallv(void const* data, int const* counts, int const* from, MPI_Datatype type,
                  void* all, int const* counts_of_all, int const* places, MPI_Datatype type_of_all,
                  MPI_Comm world) {
    counted_calls::note("MPI_Alltoallv", sum_of(counts, world));
    counted_calls::note("MPI_Alltoallv", sum_of(counts_of_all, world));
    return PMPI_Alltoallv(data, counts, from, type, all, counts_of_all, places, type_of_all, world);
}

int MPI_Comm_idup(MPI_Comm world, MPI_Comm* duplicate, MPI_Request* request) {
    counted_calls::note("MPI_Comm_idup", 0);
    return PMPI_Comm_idup(world, duplicate, request);
}

int MPI_Comm_split(MPI_Comm world, int color, int key, MPI_Comm* some) {
    counted_calls::note("MPI_Comm_split", 0);
    return PMPI_Comm_split(world, color, key, some);
}

int MPI_Comm_split_type(MPI_Comm world, int type, int key, MPI_Info info, MPI_Comm* some) {
    counted_calls::note("MPI_Comm_split_type", 0);
    return PMPI_Comm_split_type(world, type, key, info, some);
}

int MPI_Barrier(MPI_Comm world) {
    counted_calls::note("MPI_Barrier", 0);
    return PMPI_Barrier(world);
}

int MPI_Ibarrier(MPI_Comm world, MPI_Request* request) {
    counted_calls::note("MPI_Ibarrier", 0);
    return PMPI_Ibarrier(world, request);
}
}
