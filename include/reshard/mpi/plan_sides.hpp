// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_PLAN_SIDES_HPP
#define RESHARD_MPI_PLAN_SIDES_HPP

#include <reshard/bind/job.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/plan/options.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

/// \file
/// Makes each rank's plan from the facts that ranks know about two layouts.

namespace reshard {

class any_program;
class mapping;
struct options;

namespace detail {

struct planned_job;

/// The tensors of a side as they are planned if it has no layout.
template <class View>
basic_state_dict<View> joined_for_plan(basic_state_dict<View> const& tensors) {
    return basic_state_dict<View>(tensors.shards().joined_with_tiles());
}

/// The facts that a rank knows about one side before it asks others: the layout, or its own shards.
struct known_side {
    std::optional<reshard::layout> layout;
    const_state_dict held;
    vector<shard_descriptor> joined; ///< the same shards, as `joined_for_plan` joins them
};

/// The values that all ranks of a call must share: the options, and the numbers of the arenas.
RESHARD_DECL compared_values call_fingerprint(options const& options, source_tensors const& have,
                                              target_tensors const& want);

/// Checks the tensors and arenas of this rank alone.
RESHARD_DECL local_error check_call(mpi_group const& world, source_tensors const& have,
                                    target_tensors const& want, options const& options);

/// Both sides, as far as a rank knows them.
struct two_sides {
    known_side source;
    known_side target;
};

/// The sides, as far as this rank knows them. Moves the layouts out of the arguments. Does not
/// communicate.
RESHARD_DECL two_sides sides_of(source_tensors& have, target_tensors& want);

/// A rank's report to the others about one side.
struct side_notice {
    layout_notice spread; ///< the shards may be missing, see `call_notice::tells_shards`
    std::string cuts;     ///< `program_steps::cuts`, if the rank knows no layout

    static constexpr void members(auto& self, auto&& visit) { visit(self.spread, self.cuts); }
};

/// The notice that a rank sends to all others when it enters a redistribution.
struct call_notice {
    side_notice source;
    side_notice target;
    std::uint8_t tells_shards = 0; ///< 1 if the sides have shards; equal on every rank
    rank_notice rank;
    std::uint64_t digest = 0;      ///< a digest of all facts that the rank knows about both sides
    std::uint64_t latest_plan = 0; ///< the digest of the plan that the rank used last for this call

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.source, self.target, self.tells_shards, self.rank, self.digest,
              self.latest_plan);
    }
};

/// The notice of this rank. Does not communicate.
RESHARD_DECL call_notice notice_of(mpi_group const& world, two_sides const& own,
                                   options const& options);

/// The rank notice in each call notice.
RESHARD_DECL vector<rank_notice> rank_notices_of(vector<call_notice> const& notices);

/// For each rank, the lowest rank on its node. A node is a machine, or RESHARD_RANKS_PER_NODE ranks
/// of a machine.
///
/// \param notices of all ranks, by rank
/// \throws error with errc::usage if the variable is not a number of ranks
RESHARD_DECL vector<int> nodes_of(vector<rank_notice> const& notices);

/// The facts that this rank knows once it has all notices.
struct call_facts {
    two_sides sides; ///< with the layouts that any rank knows
    vector<call_notice> notices;
    vector<int> nodes; ///< for each rank, the lowest rank on its node
};

/// The steps of a call that looks up the sources of its tensors. A program whose calls all gather
/// the shards compiles none of them.
struct lookup_steps {
    /// Returns the plan of this process. Its memory grows with the process's shards, their sources,
    /// and the number of keys. The plan equals the plan from gathered layouts if all replicas are
    /// described identically. Overlapping source shards that are not replicas are detected only if
    /// a target needs them.
    ///
    /// \par Collective every rank of the group, in the same order; nothing else communicates over
    ///     the group
    /// \pre  each side's layout is known to all ranks, or to none
    /// \throws error on every rank: as `by_name`, `fit_shapes`, `problem_of` and `make_plan`
    std::shared_ptr<planned_job> (*plan)(mpi_group const& world, call_facts const& facts,
                                         std::optional<mapping> program, options const& options);
};

/// Reads the notices. Sends a layout if only some ranks know it.
///
/// \param notices of all ranks, by rank
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank: errc::ranks_disagree for different layouts of one side
RESHARD_DECL call_facts facts_of_call(mpi_group const& ranks, two_sides own,
                                      vector<call_notice> notices);

/// The facts that a program needs about one side.
RESHARD_DECL side_facts facts_of_side(call_facts const& facts, bool is_source);

/// The options that a call plans with: its nodes, and how a sender is chosen among ranks that hold
/// the same elements. If nodes differ in size, or if there is only one node, no rank passes
/// elements on.
///
/// \param nodes for each rank, the lowest rank on its node
RESHARD_DECL plan_options nodes_of(options const& options, vector<int> const& nodes);

/// The plan of this rank, or the error that prevented it. The other ranks do not know the error
/// yet.
struct known_plan {
    std::shared_ptr<planned_job const> planned;
    bool was_kept = false;
    local_error problem = {};
};

/// The plan of this rank, from `options.cache` if every rank has it there.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL known_plan plan_of_call(mpi_group const& ranks, call_facts facts,
                                     std::optional<mapping> program, options const& options);

/// The layouts of a call in rounds, without a plan.
///
/// \pre the notices have the shards of sides that no rank knows
RESHARD_DECL std::shared_ptr<planned_job> layouts_of_rounds(call_facts facts,
                                                            options const& options);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/plan_sides.ipp>
#endif

#endif
