// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PLAN_PICTURE_HPP
#define RESHARD_TOOL_PLAN_PICTURE_HPP

#include "network_report.hpp"
#include "picture/heat_map.hpp"

#include <reshard/core/vector.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/rounds.hpp>

#include <optional>
#include <string>

/// \file
/// A plan as a picture.

namespace tool {

/// Returns why a name is not a picture's, or an empty text.
std::string complaint_about_picture(std::string const& path);

/// Who sends how much to whom.
reshard::heat_bins bins_of(reshard::plan_flows const& flows);

/// A picture, as SVG, of who sends to whom, and of the rounds below it, with a line at the budget;
/// below these, over a network, of the busiest links.
std::string plan_picture(reshard::plan_flows const& flows,
                         reshard::vector<reshard::detail::plan_round> const& rounds,
                         std::optional<reshard::index_t> budget,
                         std::optional<simulated_plan> const& simulated);

} // namespace tool

#endif
