// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "calls.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

/// \file
/// The table of a family of MPI libraries. It is compiled with the family's header, and linked to no
/// library: it uses the one that the process has loaded.

namespace {

using namespace portable_mpi;

static_assert(MPI_VERSION >= 3);
static_assert(sizeof(MPI_Status) <= sizeof(status::bytes) && alignof(MPI_Status) <= 8);
static_assert(MPI_MAX_PORT_NAME <= max_port_name);
static_assert(MPI_MAX_PROCESSOR_NAME <= max_processor_name);

/// The family's handle of a portable one, and back. A number has no sign in a pointer, because the
/// library may write it to the lower half of the pointer itself.
template <class To, class From>
To converted(From handle) {
    static_assert(sizeof(From) == sizeof(std::uintptr_t) || sizeof(From) == sizeof(unsigned));
    if constexpr (std::is_pointer_v<From> && std::is_pointer_v<To>)
        return reinterpret_cast<To>(handle);
    else if constexpr (std::is_pointer_v<From>)
        return static_cast<To>(reinterpret_cast<std::uintptr_t>(handle));
    else
        return reinterpret_cast<To>(std::uintptr_t{static_cast<unsigned>(handle)});
}

MPI_Comm own(comm handle) { return converted<MPI_Comm>(handle); }
MPI_Datatype own(datatype handle) { return converted<MPI_Datatype>(handle); }
MPI_Errhandler own(errhandler handle) { return converted<MPI_Errhandler>(handle); }
MPI_Group own(group handle) { return converted<MPI_Group>(handle); }
MPI_Info own(info handle) { return converted<MPI_Info>(handle); }
MPI_Message own(message handle) { return converted<MPI_Message>(handle); }
MPI_Request own(request handle) { return converted<MPI_Request>(handle); }

/// Calls `call` with the address of the family's handle, and stores the handle that it leaves.
template <class Handle>
int with(Handle* handle, auto const& call) {
    auto value = own(*handle);
    int const result = call(&value);
    *handle = converted<Handle>(value);
    return result;
}

/// The same for a handle that the call only writes.
template <class Handle>
int into(Handle* handle, auto const& call) {
    *handle = nullptr;
    return with(handle, call);
}

/// Calls `call` with a status of the family, or with the value that ignores it.
int with_status(status* result, auto const& call) {
    if (!result)
        return call(MPI_STATUS_IGNORE);
    MPI_Status value{};
    int const error = call(&value);
    result->MPI_SOURCE = value.MPI_SOURCE;
    result->MPI_TAG = value.MPI_TAG;
    result->MPI_ERROR = value.MPI_ERROR;
    std::memcpy(result->bytes, &value, sizeof value);
    return error;
}

/// Calls `call` with the requests as the family has them.
int with_requests(int count, request* requests, auto const& call) {
    if constexpr (sizeof(MPI_Request) == sizeof(request)) {
        return call(reinterpret_cast<MPI_Request*>(requests));
    } else {
        thread_local std::vector<MPI_Request> values;
        values.clear();
        for (int i = 0; i < count; ++i)
            values.push_back(own(requests[i]));
        int const error = call(values.data());
        std::transform(values.begin(), values.end(), requests, converted<request, MPI_Request>);
        return error;
    }
}

int Comm_idup(comm old, comm* copy, request* pending) {
    // the library writes the new handle later, when the request is complete
    return into(pending, [&](MPI_Request* value) {
        return MPI_Comm_idup(own(old), reinterpret_cast<MPI_Comm*>(copy), value);
    });
}

int Iallgather(void const* from, int sent, datatype sent_type, void* to, int received,
               datatype received_type, comm world, request* pending) {
    return into(pending, [&](MPI_Request* value) {
        return MPI_Iallgather(from, sent, own(sent_type), to, received, own(received_type),
                              own(world), value);
    });
}

int Iallgatherv(void const* from, int sent, datatype sent_type, void* to, int const* counts,
                int const* offsets, datatype received_type, comm world, request* pending) {
    return into(pending, [&](MPI_Request* value) {
        return MPI_Iallgatherv(from, sent, own(sent_type), to, counts, offsets, own(received_type),
                               own(world), value);
    });
}

int Improbe(int source, int tag, comm world, int* there, message* arrived, status* result) {
    return into(arrived, [&](MPI_Message* value) {
        return with_status(result, [&](MPI_Status* about) {
            return MPI_Improbe(source, tag, own(world), there, value, about);
        });
    });
}

int Mrecv(void* to, int count, datatype type, message* arrived, status* result) {
    return with(arrived, [&](MPI_Message* value) {
        return with_status(result, [&](MPI_Status* about) {
            return MPI_Mrecv(to, count, own(type), value, about);
        });
    });
}

int Recv(void* to, int count, datatype type, int source, int tag, comm world, status* result) {
    return with_status(result, [&](MPI_Status* about) {
        return MPI_Recv(to, count, own(type), source, tag, own(world), about);
    });
}

int Iprobe(int source, int tag, comm world, int* there, status* result) {
    return with_status(result, [&](MPI_Status* about) {
        return MPI_Iprobe(source, tag, own(world), there, about);
    });
}

int Get_count(status const* about, datatype type, int* count) {
    MPI_Status value;
    std::memcpy(&value, about->bytes, sizeof value);
    return MPI_Get_count(&value, own(type), count);
}

int Test(request* pending, int* done, status* result) {
    return with(pending, [&](MPI_Request* value) {
        return with_status(result, [&](MPI_Status* about) { return MPI_Test(value, done, about); });
    });
}

/// \pre the caller ignores the statuses
int Testall(int count, request* pending, int* done, status*) {
    return with_requests(count, pending, [&](MPI_Request* values) {
        return MPI_Testall(count, values, done, MPI_STATUSES_IGNORE);
    });
}

int Testany(int count, request* pending, int* which, int* done, status* result) {
    return with_requests(count, pending, [&](MPI_Request* values) {
        return with_status(result, [&](MPI_Status* about) {
            return MPI_Testany(count, values, which, done, about);
        });
    });
}

calls make_table() {
    calls table{};
    table.values = {
        .comm_null = converted<comm>(MPI_COMM_NULL),
        .comm_world = converted<comm>(MPI_COMM_WORLD),
        .datatype_null = converted<datatype>(MPI_DATATYPE_NULL),
        .byte = converted<datatype>(MPI_BYTE),
        .errors_are_fatal = converted<errhandler>(MPI_ERRORS_ARE_FATAL),
        .group_null = converted<group>(MPI_GROUP_NULL),
        .info_null = converted<info>(MPI_INFO_NULL),
        .request_null = converted<request>(MPI_REQUEST_NULL),
        .any_source = MPI_ANY_SOURCE,
        .proc_null = MPI_PROC_NULL,
        .undefined = MPI_UNDEFINED,
        .success = MPI_SUCCESS,
        .comm_type_shared = MPI_COMM_TYPE_SHARED,
        .identical = MPI_IDENT,
        .congruent = MPI_CONGRUENT,
        .unequal = MPI_UNEQUAL,
    };
    table.functions = {
        .Abort = [](comm world, int code) { return MPI_Abort(own(world), code); },
        .Close_port = MPI_Close_port,
        .Comm_accept =
            [](char const* port, info hints, int root, comm world, comm* result) {
                return into(result, [&](MPI_Comm* value) {
                    return MPI_Comm_accept(port, own(hints), root, own(world), value);
                });
            },
        .Comm_compare = [](comm a, comm b,
                           int* result) { return MPI_Comm_compare(own(a), own(b), result); },
        .Comm_connect =
            [](char const* port, info hints, int root, comm world, comm* result) {
                return into(result, [&](MPI_Comm* value) {
                    return MPI_Comm_connect(port, own(hints), root, own(world), value);
                });
            },
        .Comm_f2c = [](int number) { return converted<comm>(MPI_Comm_f2c(number)); },
        .Comm_free = [](comm* world) { return with(world, MPI_Comm_free); },
        .Comm_group =
            [](comm world, group* result) {
                return into(result,
                            [&](MPI_Group* value) { return MPI_Comm_group(own(world), value); });
            },
        .Comm_idup = Comm_idup,
        .Comm_rank = [](comm world, int* rank) { return MPI_Comm_rank(own(world), rank); },
        .Comm_set_errhandler =
            [](comm world, errhandler handler) {
                return MPI_Comm_set_errhandler(own(world), own(handler));
            },
        .Comm_size = [](comm world, int* size) { return MPI_Comm_size(own(world), size); },
        .Comm_split =
            [](comm world, int color, int key, comm* result) {
                return into(result, [&](MPI_Comm* value) {
                    return MPI_Comm_split(own(world), color, key, value);
                });
            },
        .Comm_split_type =
            [](comm world, int type, int key, info hints, comm* result) {
                return into(result, [&](MPI_Comm* value) {
                    return MPI_Comm_split_type(own(world), type, key, own(hints), value);
                });
            },
        .Finalized = MPI_Finalized,
        .Get_count = Get_count,
        .Get_processor_name = MPI_Get_processor_name,
        .Group_compare = [](group a, group b,
                            int* result) { return MPI_Group_compare(own(a), own(b), result); },
        .Group_free = [](group* ranks) { return with(ranks, MPI_Group_free); },
        .Iallgather = Iallgather,
        .Iallgatherv = Iallgatherv,
        .Ibarrier =
            [](comm world, request* pending) {
                return into(pending,
                            [&](MPI_Request* value) { return MPI_Ibarrier(own(world), value); });
            },
        .Improbe = Improbe,
        .Intercomm_merge =
            [](comm both, int is_high, comm* result) {
                return into(result, [&](MPI_Comm* value) {
                    return MPI_Intercomm_merge(own(both), is_high, value);
                });
            },
        .Iprobe = Iprobe,
        .Irecv =
            [](void* to, int count, datatype type, int peer, int tag, comm world,
               request* pending) {
                return into(pending, [&](MPI_Request* value) {
                    return MPI_Irecv(to, count, own(type), peer, tag, own(world), value);
                });
            },
        .Isend =
            [](void const* from, int count, datatype type, int peer, int tag, comm world,
               request* pending) {
                return into(pending, [&](MPI_Request* value) {
                    return MPI_Isend(from, count, own(type), peer, tag, own(world), value);
                });
            },
        .Issend =
            [](void const* from, int count, datatype type, int peer, int tag, comm world,
               request* pending) {
                return into(pending, [&](MPI_Request* value) {
                    return MPI_Issend(from, count, own(type), peer, tag, own(world), value);
                });
            },
        .Mrecv = Mrecv,
        .Open_port = [](info hints, char* port) { return MPI_Open_port(own(hints), port); },
        .Recv = Recv,
        .Test = Test,
        .Testall = Testall,
        .Testany = Testany,
        .Type_commit = [](datatype* type) { return with(type, MPI_Type_commit); },
        .Type_contiguous =
            [](int count, datatype old, datatype* result) {
                return into(result, [&](MPI_Datatype* value) {
                    return MPI_Type_contiguous(count, own(old), value);
                });
            },
        .Type_free = [](datatype* type) { return with(type, MPI_Type_free); },
        .Wtime = [] { return MPI_Wtime(); },
    };
    return table;
}

} // namespace

/// \pre the MPI library is loaded, with its symbols visible to all
extern "C" [[gnu::visibility("default")]] portable_mpi::calls const* reshard_mpi_calls() {
    static calls const table = make_table();
    return &table;
}
