// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PYTHON_MPI_MPI_H
#define RESHARD_PYTHON_MPI_MPI_H

#include "calls.hpp"

/// \file
/// Stands in for the header of an MPI library: each call goes through the table that is in use.

using MPI_Comm = portable_mpi::comm;
using MPI_Datatype = portable_mpi::datatype;
using MPI_Group = portable_mpi::group;
using MPI_Message = portable_mpi::message;
using MPI_Request = portable_mpi::request;
using MPI_Status = portable_mpi::status;

#define RESHARD_MPI_AT_RUN_TIME

#define MPI_MAX_PORT_NAME portable_mpi::max_port_name
#define MPI_MAX_PROCESSOR_NAME portable_mpi::max_processor_name
#define MPI_STATUS_IGNORE static_cast<MPI_Status*>(nullptr)
#define MPI_STATUSES_IGNORE static_cast<MPI_Status*>(nullptr)

#define MPI_COMM_NULL portable_mpi::used().values.comm_null
#define MPI_COMM_WORLD portable_mpi::used().values.comm_world
#define MPI_DATATYPE_NULL portable_mpi::used().values.datatype_null
#define MPI_BYTE portable_mpi::used().values.byte
#define MPI_ERRORS_ARE_FATAL portable_mpi::used().values.errors_are_fatal
#define MPI_GROUP_NULL portable_mpi::used().values.group_null
#define MPI_INFO_NULL portable_mpi::used().values.info_null
#define MPI_REQUEST_NULL portable_mpi::used().values.request_null
#define MPI_ANY_SOURCE portable_mpi::used().values.any_source
#define MPI_PROC_NULL portable_mpi::used().values.proc_null
#define MPI_UNDEFINED portable_mpi::used().values.undefined
#define MPI_SUCCESS portable_mpi::used().values.success
#define MPI_COMM_TYPE_SHARED portable_mpi::used().values.comm_type_shared
#define MPI_IDENT portable_mpi::used().values.identical
#define MPI_CONGRUENT portable_mpi::used().values.congruent
#define MPI_UNEQUAL portable_mpi::used().values.unequal

#define MPI_Abort portable_mpi::used().functions.Abort
#define MPI_Close_port portable_mpi::used().functions.Close_port
#define MPI_Comm_accept portable_mpi::used().functions.Comm_accept
#define MPI_Comm_compare portable_mpi::used().functions.Comm_compare
#define MPI_Comm_connect portable_mpi::used().functions.Comm_connect
#define MPI_Comm_f2c portable_mpi::used().functions.Comm_f2c
#define MPI_Comm_free portable_mpi::used().functions.Comm_free
#define MPI_Comm_group portable_mpi::used().functions.Comm_group
#define MPI_Comm_idup portable_mpi::used().functions.Comm_idup
#define MPI_Comm_rank portable_mpi::used().functions.Comm_rank
#define MPI_Comm_set_errhandler portable_mpi::used().functions.Comm_set_errhandler
#define MPI_Comm_size portable_mpi::used().functions.Comm_size
#define MPI_Comm_split portable_mpi::used().functions.Comm_split
#define MPI_Comm_split_type portable_mpi::used().functions.Comm_split_type
#define MPI_Finalized portable_mpi::used().functions.Finalized
#define MPI_Get_count portable_mpi::used().functions.Get_count
#define MPI_Get_processor_name portable_mpi::used().functions.Get_processor_name
#define MPI_Group_compare portable_mpi::used().functions.Group_compare
#define MPI_Group_free portable_mpi::used().functions.Group_free
#define MPI_Iallgather portable_mpi::used().functions.Iallgather
#define MPI_Iallgatherv portable_mpi::used().functions.Iallgatherv
#define MPI_Ibarrier portable_mpi::used().functions.Ibarrier
#define MPI_Improbe portable_mpi::used().functions.Improbe
#define MPI_Intercomm_merge portable_mpi::used().functions.Intercomm_merge
#define MPI_Iprobe portable_mpi::used().functions.Iprobe
#define MPI_Irecv portable_mpi::used().functions.Irecv
#define MPI_Isend portable_mpi::used().functions.Isend
#define MPI_Issend portable_mpi::used().functions.Issend
#define MPI_Mrecv portable_mpi::used().functions.Mrecv
#define MPI_Open_port portable_mpi::used().functions.Open_port
#define MPI_Recv portable_mpi::used().functions.Recv
#define MPI_Test portable_mpi::used().functions.Test
#define MPI_Testall portable_mpi::used().functions.Testall
#define MPI_Testany portable_mpi::used().functions.Testany
#define MPI_Type_commit portable_mpi::used().functions.Type_commit
#define MPI_Type_contiguous portable_mpi::used().functions.Type_contiguous
#define MPI_Type_free portable_mpi::used().functions.Type_free
#define MPI_Wtime portable_mpi::used().functions.Wtime

#endif
