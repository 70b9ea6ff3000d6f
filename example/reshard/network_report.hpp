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
/// The time of a plan over a network, as text and as JSON.

namespace tool {

/// A simulated plan over a network.
struct simulated_plan {
    std::string file; ///< path as on the command line
    reshard::network over;
    reshard::simulation run;
    reshard::detail::least_time least = {}; ///< least time of all plans between these layouts
};

/// The busiest links, at most ten. The links that bound the plan come first.
reshard::vector<reshard::link_strip> busiest_links(reshard::simulation const& run);

/// The load of each link in a row, below a row of headings.
reshard::vector<reshard::vector<std::string>>
rows_of(reshard::vector<reshard::link_strip> const& links);

/// The time of the plan, and the links that bound it, in sentences.
std::string bound_text(simulated_plan const& plan);

/// The text of `bound_text`, and the busiest links with their load over time.
std::string text_of(simulated_plan const& plan);

boost::json::object json_of(simulated_plan const& plan);

} // namespace tool

#endif
