// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "network_report.hpp"

#include "report.hpp"
#include "summary.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <numeric>
#include <vector>

namespace tool {

using namespace reshard;
namespace json = boost::json;

namespace {

/// The numbers of the links that have most to do, at most ten.
std::vector<std::size_t> busiest_links(simulation const& run) {
    constexpr std::size_t most = 10;
    std::vector<std::size_t> links(run.links.size());
    std::iota(links.begin(), links.end(), std::size_t{0});
    std::ranges::stable_sort(links, std::greater<>(),
                             [&](std::size_t i) { return run.links[i].least_seconds; });
    links.resize(std::min(most, links.size()));
    return links;
}

/// How many links bound a plan as the first of them does.
std::size_t count_bounding(simulation const& run) {
    return static_cast<std::size_t>(
        std::ranges::count_if(run.links, [&](simulation::link const& one) {
            return one.least_seconds >= run.least_seconds() * (1 - 1e-9);
        }));
}

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
    return text;
}

json::array timeline_json(simulation::link const& one) {
    json::array list;
    for (simulation::interval const& part : one.timeline)
        list.push_back({{"begin", part.begin},
                        {"end", part.end},
                        {"bytes_per_second", part.bytes_per_second}});
    return list;
}

} // namespace

std::string seconds_text(double seconds) {
    constexpr char const* units[] = {"s", "ms", "us", "ns"};
    std::size_t unit = 0;
    for (; unit < 3 && seconds > 0 && seconds < 0.9995; ++unit)
        seconds *= 1000;
    char text[32];
    std::snprintf(text, sizeof text, seconds < 999.5 ? "%.3g" : "%.0f", seconds);
    return std::string(text) + " " + units[unit];
}

std::string text_of(simulated_plan const& one) {
    simulation const& run = one.run;
    std::string text = "over " + one.file + ", " + counted(one.over.ranks_per_node, "rank") +
                       " a node: " + seconds_text(run.seconds) + "\n";
    if (run.links.empty())
        return text;
    std::size_t const alike = count_bounding(run) - 1;
    text += "no order takes less than " + seconds_text(run.least_seconds()) + ", by " +
            name(run.links[run.bounded_by]) +
            (alike > 0 ? " (and " + counted(alike, "other link") + ")\n" : "\n");
    std::vector<std::vector<std::string>> rows{{"link", "bytes", "busy", "utilisation", "least"}};
    for (std::size_t const i : busiest_links(run)) {
        simulation::link const& link = run.links[i];
        rows.push_back({name(link), grouped(link.bytes), seconds_text(link.busy_seconds),
                        percent(link.utilisation), seconds_text(link.least_seconds)});
    }
    std::size_t const left_out = run.links.size() - (rows.size() - 1);
    return text + table(rows) +
           (left_out == 0
                ? ""
                : "  and " + counted(left_out, "link") + " with no more to do; --json lists all\n");
}

json::object json_of(simulated_plan const& one) {
    simulation const& run = one.run;
    json::array links, timelines;
    for (simulation::link const& link : run.links)
        links.push_back({{"link", name(link)},
                         {"bytes", link.bytes},
                         {"busy_seconds", link.busy_seconds},
                         {"utilisation", link.utilisation},
                         {"least_seconds", link.least_seconds}});
    for (std::size_t const i : busiest_links(run))
        timelines.push_back(
            {{"link", name(run.links[i])}, {"intervals", timeline_json(run.links[i])}});
    json::object document{{"ranks_per_node", one.over.ranks_per_node},
                          {"seconds", run.seconds},
                          {"least_seconds", run.least_seconds()}};
    document["bounded_by"] =
        run.links.empty() ? json::value() : json::value(name(run.links[run.bounded_by]));
    document["links"] = std::move(links);
    document["timelines"] = std::move(timelines);
    return document;
}

} // namespace tool
