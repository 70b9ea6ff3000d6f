// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PAGE_PLAN_PAGE_HPP
#define RESHARD_TOOL_PAGE_PLAN_PAGE_HPP

#include "network_report.hpp"
#include "page/html.hpp"
#include "picture/heat_map.hpp"
#include "spec.hpp"

#include <reshard/core/vector.hpp>
#include <reshard/plan/rounds.hpp>

#include <boost/json/object.hpp>

#include <optional>
#include <string>

/// \file
/// Shows a plan on a page.

namespace tool {

/// The content of the page.
struct shown_plan {
    std::string source; ///< names as on the command line
    std::string target;
    boost::json::object const& document; ///< the document of `--json`
    source_spec const& from;
    reshard::layout const& to;
    std::optional<reshard::mesh> ranks; ///< mesh of the target, if its file has one
    reshard::heat_bins const& bins;     ///< between ranks, or from files to ranks
    reshard::vector<reshard::detail::plan_round> const& rounds;
    std::optional<reshard::index_t> budget;
    std::optional<simulated_plan> const& simulated;
    reshard::vector<std::string> remarks; ///< warnings
};

std::string plan_page(shown_plan const& shown);

} // namespace tool

#endif
