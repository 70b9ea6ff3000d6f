// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_HPP
#define RESHARD_MPI_HPP

#include <reshard/mpi/joined_programs.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/os/prefaulted_memory.hpp>

/// \file
/// Everything that needs MPI: `redistribute` over a communicator, `prepare` and `run`; memory that
/// ranks of a node share, and memory for targets that do not exist yet.

#endif
