// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PYTHON_MPI_CALLS_HPP
#define RESHARD_PYTHON_MPI_CALLS_HPP

/// \file
/// The calls and values of an MPI library that this library uses, as a table.
///
/// The module is compiled with these types. `family.cpp` fills a table for each family of MPI
/// libraries. A handle is a pointer here; if a family numbers its handles, the pointer is the
/// number.

namespace portable_mpi {

using comm = struct comm_handle*;
using datatype = struct datatype_handle*;
using errhandler = struct errhandler_handle*;
using group = struct group_handle*;
using info = struct info_handle*;
using message = struct message_handle*;
using request = struct request_handle*;

struct status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    alignas(8) unsigned char bytes[32]; ///< the status of the library
};

struct values {
    comm comm_null, comm_world;
    datatype datatype_null, byte;
    errhandler errors_are_fatal;
    group group_null;
    info info_null;
    request request_null;
    int any_source, proc_null, undefined, success, comm_type_shared, identical, congruent, unequal;
};

/// The functions `MPI_...`, with these types.
struct functions {
    int (*Abort)(comm, int);
    int (*Close_port)(char const*);
    int (*Comm_accept)(char const*, info, int, comm, comm*);
    int (*Comm_compare)(comm, comm, int*);
    int (*Comm_connect)(char const*, info, int, comm, comm*);
    comm (*Comm_f2c)(int);
    int (*Comm_free)(comm*);
    int (*Comm_group)(comm, group*);
    int (*Comm_idup)(comm, comm*, request*);
    int (*Comm_rank)(comm, int*);
    int (*Comm_set_errhandler)(comm, errhandler);
    int (*Comm_size)(comm, int*);
    int (*Comm_split)(comm, int, int, comm*);
    int (*Comm_split_type)(comm, int, int, info, comm*);
    int (*Finalized)(int*);
    int (*Get_count)(status const*, datatype, int*);
    int (*Get_processor_name)(char*, int*);
    int (*Group_compare)(group, group, int*);
    int (*Group_free)(group*);
    int (*Iallgather)(void const*, int, datatype, void*, int, datatype, comm, request*);
    int (*Iallgatherv)(void const*, int, datatype, void*, int const*, int const*, datatype, comm,
                       request*);
    int (*Ibarrier)(comm, request*);
    int (*Improbe)(int, int, comm, int*, message*, status*);
    int (*Intercomm_merge)(comm, int, comm*);
    int (*Iprobe)(int, int, comm, int*, status*);
    int (*Irecv)(void*, int, datatype, int, int, comm, request*);
    int (*Isend)(void const*, int, datatype, int, int, comm, request*);
    int (*Issend)(void const*, int, datatype, int, int, comm, request*);
    int (*Mrecv)(void*, int, datatype, message*, status*);
    int (*Open_port)(info, char*);
    int (*Recv)(void*, int, datatype, int, int, comm, status*);
    int (*Test)(request*, int*, status*);
    int (*Testall)(int, request*, int*, status*);
    int (*Testany)(int, request*, int*, int*, status*);
    int (*Type_commit)(datatype*);
    int (*Type_contiguous)(int, datatype, datatype*);
    int (*Type_free)(datatype*);
    double (*Wtime)();
};

inline constexpr int max_port_name = 1024, max_processor_name = 256;

struct calls {
    portable_mpi::values values;
    portable_mpi::functions functions;
};

/// The table in use.
///
/// \throws reshard::error before `use`
calls const& used();

/// \param table outlives all calls
void use(calls const& table);

} // namespace portable_mpi

#endif
