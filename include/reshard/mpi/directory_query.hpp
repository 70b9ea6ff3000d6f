// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_DIRECTORY_QUERY_HPP
#define RESHARD_MPI_DIRECTORY_QUERY_HPP

#include <reshard/core/config.hpp>

#include <memory>
#include <optional>

/// \file
/// A plan between layouts that no rank knows whole: targets look up their sources, and notify them.

namespace reshard {

class mapping;
class mpi_group;
struct options;

namespace detail {

struct known_side;
struct planned_job;

/// The plan of this process, in memory that grows with its own shards, their sources, and the
/// number of keys. It is the plan of gathered layouts, if replicas are described identically; but
/// of source shards that overlap without being replicas, only those that some rank wants are
/// detected.
///
/// \par Collective every rank of the group, in the same order; nothing else communicates over it
/// \pre  each side's layout is known to all ranks, or to none
/// \throws error on every rank: as `by_name`, `fit_shapes`, `problem_of` and `make_plan`
RESHARD_DECL std::shared_ptr<planned_job>
query_directory(mpi_group const& world, known_side const& source, known_side const& target,
                std::optional<mapping> program, options const& options);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/directory_query.ipp>
#endif

#endif
