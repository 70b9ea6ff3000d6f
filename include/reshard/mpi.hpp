// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_HPP
#define RESHARD_MPI_HPP

#include <reshard/mpi/redistribute.hpp>

/// \file
/// `redistribute` over a communicator, `prepare` and `run`. Other features of a call have separate
/// headers: `bind/program.hpp` (also in `<reshard.hpp>`), `bind/rounds.hpp`, `bind/plan_cache.hpp`,
/// `plan/between_nodes.hpp`, `mpi/shared_arena.hpp`, `mpi/directory_query.hpp`,
/// `mpi/joined_programs.hpp`.

#endif
