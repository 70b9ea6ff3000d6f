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
/// Draws a plan.

namespace tool {

/// The error in the name of a picture; empty if it is valid.
std::string complaint_about_picture(std::string const& path);

/// The bytes between pairs of ranks.
reshard::heat_bins bins_of(reshard::plan_flows const& flows);

/// An SVG picture of the bytes between ranks, with the rounds below it and a line at the budget.
/// With a network, the busiest links are at the bottom.
std::string plan_picture(reshard::plan_flows const& flows,
                         reshard::vector<reshard::detail::plan_round> const& rounds,
                         std::optional<reshard::index_t> budget,
                         std::optional<simulated_plan> const& simulated);

} // namespace tool

#endif
