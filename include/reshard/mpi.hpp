// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_HPP
#define RESHARD_MPI_HPP

#include <reshard/mpi/joined_programs.hpp>
#include <reshard/mpi/redistribute.hpp>

/// \file
/// `redistribute` over a communicator, `prepare` and `run`. What a call can do besides has headers of
/// its own: `mpi/shared_arena.hpp`, `mpi/directory_query.hpp`, `bind/rounds.hpp`.

#endif
