// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_NETWORK_REPORT_HPP
#define RESHARD_TOOL_NETWORK_REPORT_HPP

#include "picture/link_timelines.hpp"

#include <reshard/analysis/balance.hpp>
#include <reshard/analysis/simulation.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/network.hpp>

#include <boost/json/object.hpp>

#include <string>

/// \file
/// The time of a plan over a network, for people and programs.

namespace tool {

/// A plan over a network.
struct simulated_plan {
    std::string file; ///< as on the command line
    reshard::network over;
    reshard::simulation run;
    reshard::detail::least_time least = {}; ///< of any plan between these layouts
};

/// The links that have most to do, at most ten, the first of those that bound the plan in front.
reshard::vector<reshard::link_strip> busiest_links(reshard::simulation const& run);

/// The load of each of them, a line each, below a line of names.
reshard::vector<reshard::vector<std::string>>
rows_of(reshard::vector<reshard::link_strip> const& links);

/// How long it takes, and what bounds it, in sentences.
std::string bound_text(simulated_plan const& plan);

/// The same, and the busiest links with their load over time.
std::string text_of(simulated_plan const& plan);

boost::json::object json_of(simulated_plan const& plan);

} // namespace tool

#endif
