// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "network_report.hpp"

#include <reshard/core/vector.hpp>

#include "report.hpp"
#include "summary.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>

namespace tool {

using namespace reshard;
namespace json = boost::json;

namespace {

/// True if a link bounds the time of a plan as much as the slowest link.
bool bounds(simulation const& run, simulation::link const& link) {
    return link.least_seconds >= run.least_seconds() * (1 - 1e-9);
}

json::array timeline_json(simulation::link const& link) {
    json::array list;
    for (simulation::interval const& part : link.timeline)
        list.push_back({{"begin", part.begin},
                        {"end", part.end},
                        {"bytes_per_second", part.bytes_per_second}});
    return list;
}

/// The ratio of the plan's time to the least time of all plans, as text.
std::string least_text(simulated_plan const& plan) {
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "%.2f", plan.run.seconds / plan.least.seconds);
    return plan.least.of.empty()
               ? ""
               : "no plan between these layouts takes less than " +
                     duration_text(plan.least.seconds) + ", limited by " + plan.least.of +
                     "; this one takes " + ratio + " times as long\n";
}

} // namespace

reshard::vector<link_strip> busiest_links(simulation const& run) {
    constexpr std::size_t most = 10;
    reshard::vector<std::size_t> links(run.links.size());
    std::iota(links.begin(), links.end(), std::size_t{0});
    std::ranges::stable_sort(links, std::greater<>(),
                             [&](std::size_t i) { return run.links[i].least_seconds; });
    links.resize(std::min(most, links.size()));
    reshard::vector<link_strip> strips;
    for (std::size_t const i : links)
        strips.push_back({run.links[i], run.seconds, bounds(run, run.links[i])});
    return strips;
}

reshard::vector<reshard::vector<std::string>> rows_of(reshard::vector<link_strip> const& links) {
    reshard::vector<reshard::vector<std::string>> rows{
        {"link", "bytes", "busy", "utilisation", "least"}};
    for (link_strip const& strip : links)
        rows.push_back({name(strip.link), grouped(strip.link.bytes),
                        duration_text(strip.link.busy_seconds),
                        detail::percent_text(strip.link.utilisation),
                        duration_text(strip.link.least_seconds)});
    return rows;
}

std::string bound_text(simulated_plan const& plan) {
    simulation const& run = plan.run;
    std::string const text = "over " + plan.file + ", " +
                             counted(plan.over.ranks_per_node, "rank") +
                             " a node: " + duration_text(run.seconds) + "\n";
    if (run.links.empty())
        return text;
    auto const same_count = static_cast<std::size_t>(std::ranges::count_if(
        run.links, [&](simulation::link const& link) { return bounds(run, link); }));
    return text + "no order of the transfers takes less than " +
           duration_text(run.least_seconds()) + ", limited by " + name(run.links[run.bounded_by]) +
           (same_count > 1 ? " (and " + counted(same_count - 1, "other link") + ")\n" : "\n");
}

std::string text_of(simulated_plan const& plan) {
    simulation const& run = plan.run;
    if (run.links.empty())
        return bound_text(plan);
    constexpr std::size_t parts = 24;
    reshard::vector<link_strip> const links = busiest_links(run);
    auto rows = rows_of(links);
    rows[0].emplace_back("over time");
    for (std::size_t i = 0; i < links.size(); ++i)
        rows[i + 1].push_back("|" + strip_text(links[i], parts) + "|");
    std::size_t const left_out = run.links.size() - links.size();
    return bound_text(plan) + least_text(plan) + table(rows) +
           (left_out == 0 ? ""
                          : "  and " + counted(left_out, "link") +
                                " with at most as much to do; --json lists all\n") +
           "  over time, as a share of a link's rate: ' ' nothing, '.' some, ':' a quarter, "
           "'+' half, '#' three quarters or more\n";
}

json::object json_of(simulated_plan const& plan) {
    simulation const& run = plan.run;
    json::array links, timelines;
    for (simulation::link const& link : run.links)
        links.push_back({{"link", name(link)},
                         {"bytes", link.bytes},
                         {"busy_seconds", link.busy_seconds},
                         {"utilisation", link.utilisation},
                         {"least_seconds", link.least_seconds}});
    for (link_strip const& strip : busiest_links(run))
        timelines.push_back({{"link", name(strip.link)}, {"intervals", timeline_json(strip.link)}});
    json::object document{
        {"ranks_per_node", plan.over.ranks_per_node},
        {"seconds", run.seconds},
        {"least_seconds", run.least_seconds()},
        {"least_seconds_of_any_plan", plan.least.seconds},
        {"least_of", plan.least.of.empty() ? json::value() : json::value(plan.least.of)}};
    document["bounded_by"] =
        run.links.empty() ? json::value() : json::value(name(run.links[run.bounded_by]));
    document["links"] = std::move(links);
    document["timelines"] = std::move(timelines);
    return document;
}

} // namespace tool
