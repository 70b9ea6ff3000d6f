// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_PLAN_SIDES_HPP
#define RESHARD_MPI_PLAN_SIDES_HPP

#include <reshard/bind/job.hpp>
#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/layout/layout.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// \file
/// From what ranks know of two layouts to the plan of each.

namespace reshard {

class any_program;
class mapping;
class mpi_group;
struct options;

namespace detail {

struct planned_job;
struct planned_rounds;

/// What a rank knows of one side before it asks: all of it, or the shards that it has itself.
struct known_side {
    std::optional<reshard::layout> layout;
    std::vector<shard_descriptor> held;
    std::vector<shard_descriptor> joined; ///< the same, neighbours in memory as one shard
};

/// What ranks that do the same have alike, their arenas among it.
RESHARD_DECL compared_values alike_in_call(options const& how, source_tensors const& have,
                                           target_tensors const& want);

/// What can be seen of the tensors and arenas of one rank alone.
RESHARD_DECL local_error check_call(mpi_group const& world, source_tensors const& have,
                                    target_tensors const& want, options const& how);

/// Both sides as far as they are known without telling every shard, and neighbours in memory as
/// one shard, which a rank tells in their place where it knows no layout.
struct two_sides {
    known_side source;
    known_side target;
    bool are_learned = false; ///< the layouts that some rank knows are known to all
};

/// What this rank knows. Does not communicate.
RESHARD_DECL two_sides sides_of(source_tensors const& have, target_tensors const& want);

/// The mapping of a program; nothing where tensors move by name. A function gets the catalogs of
/// both sides.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike: what the program throws; errc::ranks_disagree where it gives
///         different mappings
RESHARD_DECL std::optional<mapping> mapping_of_call(mpi_group const& ranks,
                                                    any_program const& program, two_sides& sides);

/// A plan, and whether it was made before.
struct known_plan {
    std::shared_ptr<planned_job const> planned;
    bool was_kept = false;
};

/// What this rank gives and gets, whatever is known of the layouts; from `how.cache` where every
/// rank has it.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL known_plan plan_of_call(mpi_group const& ranks, two_sides& sides,
                                     std::optional<mapping> program, options const& how);

/// The same in rounds, between layouts that all ranks learn whole.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL planned_rounds plan_rounds_of(mpi_group const& ranks, two_sides sides,
                                           std::optional<mapping> program, options const& how);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/plan_sides.ipp>
#endif

#endif
