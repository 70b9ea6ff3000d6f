// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_DRY_RUN_HPP
#define RESHARD_TOOL_DRY_RUN_HPP

#include "conversion.hpp"
#include "job.hpp"
#include "network_report.hpp"
#include "picture/heat_map.hpp"
#include "report.hpp"
#include "spec.hpp"

#include <reshard/analysis/balance.hpp>
#include <reshard/analysis/relabelling.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/rounds.hpp>

#include <boost/json/object.hpp>

#include <optional>
#include <string>

/// \file
/// The cost of a plan, as a value.

namespace tool {

struct plan_command {
    job_files files;
    bool key_details = false;
    std::optional<reshard::index_t> budget;
    std::string picture; ///< a file, or empty
    bool replicas = false;
    bool per_rank = false;
    bool share_copies = false;
    std::string report; ///< a file, or empty
    std::string to;     ///< the format that `convert` would write, or empty
    bool no_objects = false;
    bool relabels = false;
    std::string relabelled; ///< a file for the relabelled layout, or empty
    bool relays = false;
    reshard::holder_t ranks_per_node = 0; ///< 0: as in the network; nodes do not limit relabelling
    std::string network;                  ///< a file, or empty
    progress_when progress = progress_when::on_terminal;
};

/// The transfers and bytes of a plan for one target tensor.
struct key_cost {
    reshard::index_t transfers = 0;
    reshard::index_t bytes = 0;
};

/// A plan, its problem, and its cost.
struct dry_run {
    reshard::holder_t source_ranks = 0;
    reshard::holder_t target_ranks = 0;
    reshard::index_t source_pieces = 0;
    reshard::index_t target_pieces = 0;
    bool relays = false; ///< requested, or faster; a plan with relays has no rounds
    std::optional<reshard::detail::relay_gain>
        omitted; ///< the gain from relays, if a budget excludes them
    reshard::vector<std::string> keys;
    reshard::vector<key_cost> by_key;
    reshard::plan_cost cost;
    reshard::plan_balance balance;
    reshard::vector<reshard::detail::process_memory> memory;
    reshard::detail::plan_rounds rounds;
    std::optional<reshard::heat_bins> bins;     ///< if a report is requested
    std::string picture;                        ///< the text of the picture, if it is requested
    std::optional<conversion> files;            ///< if the source is a checkpoint
    std::optional<reshard::relabelling> played; ///< which process plays which rank of the target
    std::optional<simulated_plan> simulated;    ///< if a network is given
    double seconds = 0;                         ///< time for planning
    reshard::index_t planning_bytes = 0;        ///< memory for planning
};

/// \pre the job has a target
/// \throws error for a budget that is too small, and as `conversion_of`
dry_run make_dry_run(source_spec const& source, job const& full_job, plan_command const& options);

/// Assigns each rank of the target to the process that has most of its elements.
///
/// \throws error with errc::usage for a checkpoint, whose files do not play ranks
reshard::relabelling relabel(source_spec const& source, job& full_job, plan_command const& options);

/// The memory that a rank needs if the plan runs in one round.
///
/// \throws error with errc::overflow if the number of bytes exceeds 64 bits
reshard::index_t peak_of(dry_run const& run, std::size_t rank);

boost::json::object json_of(dry_run const& run, bool key_details);

} // namespace tool

#endif
