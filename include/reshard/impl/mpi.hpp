// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_IMPL_MPI_HPP
#define RESHARD_IMPL_MPI_HPP

/// \file
/// Moving tensors between ranks, compiled once.

#include <reshard/mpi/impl/arena_transfers.ipp>
#include <reshard/mpi/impl/bind_job.ipp>
#include <reshard/mpi/impl/bound_chunks.ipp>
#include <reshard/mpi/impl/directory_query.ipp>
#include <reshard/mpi/impl/exchange.ipp>
#include <reshard/mpi/impl/joined_programs.ipp>
#include <reshard/mpi/impl/mpi_group.ipp>
#include <reshard/mpi/impl/node_copies.ipp>
#include <reshard/mpi/impl/node_rings.ipp>
#include <reshard/mpi/impl/node_segments.ipp>
#include <reshard/mpi/impl/node_transfers.ipp>
#include <reshard/mpi/impl/plan_sides.ipp>
#include <reshard/mpi/impl/redistribute.ipp>
#include <reshard/mpi/impl/shard_directory.ipp>
#include <reshard/mpi/impl/shared_arena.ipp>

#endif
