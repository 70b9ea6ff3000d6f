// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_NETWORK_REPORT_HPP
#define RESHARD_TOOL_NETWORK_REPORT_HPP

#include <reshard/plan/network.hpp>
#include <reshard/plan/simulation.hpp>

#include <boost/json/object.hpp>

#include <string>

/// \file
/// What a plan takes over a network, for people and programs.

namespace tool {

/// A plan over a network.
struct simulated_plan {
    std::string file; ///< as on the command line
    reshard::network over;
    reshard::simulation run;
};

/// `1.5 us`, `12.3 ms`: three digits.
std::string seconds_text(double seconds);

/// How long it takes, what bounds it, and the busiest links.
std::string text_of(simulated_plan const& one);

boost::json::object json_of(simulated_plan const& one);

} // namespace tool

#endif
