// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "plan_picture.hpp"

#include "report.hpp"

#include "picture/timeline.hpp"

#include <algorithm>

namespace tool {

using namespace reshard;

heat_bins bins_of(plan_flows const& flows) {
    holder_t const targets = std::max<holder_t>(1, flows.problem().target_holders);
    // With relays, ranks of the target are senders, too.
    holder_t const sources = std::max<holder_t>(
        flows.options().between_nodes.has_relays() ? targets : 1, flows.problem().source_holders);
    heat_bins bins(sources, targets);
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](detail::flow flow) {
            flow.count = flows.count(kind);
            bins.add(flow);
        });
    return bins;
}

namespace {

/// A description for readers who do not see the picture.
std::string description_of(heat_bins const& bins, reshard::vector<detail::plan_round> const& rounds,
                           std::optional<index_t> budget) {
    index_t most = 0;
    for (detail::plan_round const& plan_round : rounds)
        most = std::max(most, plan_round.peak_bytes);
    return "Above, a square for each pair of " +
           (bins.width() == 1 ? std::string("ranks")
                              : "bins of " + std::to_string(bins.width()) + " ranks") +
           ", the darker the more one sends the other, at most " + byte_text(bins.most_bytes()) +
           "; bytes that stay on a rank have another colour. Below, " +
           counted(rounds.size(), "round") +
           ", as wide as the bytes that they write and as high as the largest memory of any rank, "
           "at most " +
           byte_text(most) + (budget ? " of a budget of " + byte_text(*budget) : std::string()) +
           ".";
}

std::string description_of(simulated_plan const& plan, std::size_t links) {
    if (links == 0)
        return " No links are shown, because no bytes move.";
    return " At the bottom, the busiest links over " + duration_text(plan.run.seconds) + ", " +
           std::to_string(links) +
           " of them, each as high as its share of its rate; no order of the transfers takes "
           "less than " +
           duration_text(plan.run.least_seconds()) + ", limited by " +
           name(plan.run.links[plan.run.bounded_by]) + ".";
}

} // namespace

std::string complaint_about_picture(std::string const& path) {
    return path.ends_with(".svg") ? ""
                                  : "'" + path +
                                        "' is not the name of a picture; "
                                        "it must end in .svg";
}

std::string plan_picture(plan_flows const& flows, reshard::vector<detail::plan_round> const& rounds,
                         std::optional<index_t> budget,
                         std::optional<simulated_plan> const& simulated) {
    heat_bins const bins = bins_of(flows);
    std::string const title = "Who sends to whom: " + std::to_string(bins.sources()) + " to " +
                              counted(bins.targets(), "rank");
    svg_point size{heat_map_size.x, heat_map_size.y + timeline_size.y + 40};
    std::string description = description_of(bins, rounds, budget);
    std::string body = svg_text({size.x / 2, 24}, title, "middle") + draw_heat_map(bins, {0, 30}) +
                       draw_timeline(rounds, budget, {0, heat_map_size.y + 40});
    if (simulated) {
        reshard::vector<link_strip> const links = busiest_links(simulated->run);
        body += draw_link_timelines(links, simulated->run.least_seconds(), {0, size.y},
                                    simulated->run.links.size() - links.size());
        description += description_of(*simulated, links.size());
        size.y += link_timelines_size(links.size()).y;
    }
    return svg_document({title, description, size}, body);
}

} // namespace tool
