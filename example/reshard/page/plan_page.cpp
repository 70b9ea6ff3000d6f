// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "page/plan_page.hpp"
#include "page/layout_page.hpp"

#include "picture/byte_text.hpp"
#include "picture/duration_text.hpp"
#include "picture/link_timelines.hpp"
#include "picture/timeline.hpp"
#include "report.hpp"
#include "summary.hpp"

#include <boost/json/array.hpp>

#include <algorithm>

namespace tool {

using namespace reshard;
namespace json = boost::json;

namespace {

constexpr std::size_t most_rows = 64, most_open_rows = 17;

/// The value of a member as text, with numbers in groups of three digits.
std::string shown_value(json::object const& object, char const* name) {
    json::value const& value = object.at(name);
    return value.is_string()   ? std::string(value.get_string())
           : value.is_double() ? std::to_string(value.get_double())
                               : grouped(value.to_number<index_t>());
}

/// A table of a list of objects. Each column is a member, with a heading.
html list_table(std::string const& caption, json::array const& list,
                reshard::vector<std::pair<char const*, char const*>> const& columns) {
    reshard::vector<reshard::vector<std::string>> rows(1);
    for (auto const& [name, heading] : columns)
        rows[0].push_back(heading);
    for (std::size_t i = 0; i < std::min(list.size(), most_rows); ++i) {
        rows.emplace_back();
        for (auto const& [name, heading] : columns)
            rows.back().push_back(shown_value(list[i].as_object(), name));
    }
    html more;
    if (list.size() > most_rows)
        more = element("p", html_text("and " + counted(list.size() - most_rows, "more row") +
                                      "; --json lists all"));
    html const table = html_table(caption, rows) + more;
    return rows.size() <= most_open_rows ? table : on_demand(caption, table);
}

std::size_t count_in(json::object const& object, char const* name) {
    return object.at(name).to_number<std::size_t>();
}

html facts_of(shown_plan const& shown) {
    json::object const& d = shown.document;
    json::value const& least = d.at("least_memory_budget");
    html const budget = least.is_null() ? html()
                                        : fact(byte_text(least.to_number<index_t>()),
                                               "least memory budget of a rank");
    json::object const& planning = d.at("planning").as_object();
    html facts =
        count_fact(count_in(d, "keys"), "key") +
        fact(byte_text(d.at("bytes").to_number<index_t>()),
             "in " + counted(count_in(d, "transfers"), "transfer")) +
        fact(byte_text(d.at("bytes_local").to_number<index_t>()), "of them within a rank") +
        count_fact(count_in(d, "messages"), "message") + budget +
        fact(duration_text(planning.at("seconds").to_number<double>()),
             "to plan, with " + byte_text(planning.at("peak_extra_bytes").to_number<index_t>()) +
                 " of memory");
    return element("div", facts, "class=\"facts\"");
}

html heat_picture(heat_bins const& bins) {
    std::string const every =
        bins.width() == 1 ? "" : ", in bins of " + std::to_string(bins.width());
    constexpr double words = 130; // length of the words beside the map
    svg_point const map{80, 60};
    double const side = std::max(words, detail::cell_side(bins) * bins.rows());
    std::string const body =
        svg_text({map.x + 200, 20}, "ranks that receive" + every, "middle") +
        svg_upright_text({20, map.y + side / 2}, bins.sender() + "s that send" + every) +
        detail::draw_bin_labels(bins, map) + detail::draw_cells(bins, map);
    std::string const legend = detail::draw_heat_legend(bins, {0, 20});
    return html{"<svg class=\"map\" role=\"img\" aria-label=\"who sends to whom\" viewBox=\"0 0 "
                "490 " +
                svg_number(map.y + side) + "\">\n" + body + "</svg>\n"} +
           html{"<svg class=\"key\" role=\"img\" aria-label=\"the meaning of the colours\" "
                "viewBox=\"0 0 "
                "190 185\">\n" +
                legend + "</svg>\n"};
}

/// The pairs that send the most bytes.
html pair_table(heat_bins const& bins) {
    struct pair {
        holder_t sender, receiver;
        index_t bytes;
    };
    reshard::vector<pair> pairs;
    for (holder_t row = 0; row < bins.rows(); ++row)
        for (holder_t column = 0; column < bins.columns(); ++column)
            if (bins.bytes(row, column) > 0)
                pairs.push_back({row, column, bins.bytes(row, column)});
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](pair const& a, pair const& b) { return a.bytes > b.bytes; });
    reshard::vector<reshard::vector<std::string>> rows{{"from", "to", "bytes"}};
    for (std::size_t i = 0; i < std::min(pairs.size(), most_rows); ++i)
        rows.push_back(
            {detail::bin_text(pairs[i].sender, bins.width(), bins.sources(), bins.sender()),
             detail::bin_text(pairs[i].receiver, bins.width(), bins.targets()),
             grouped(pairs[i].bytes)});
    if (pairs.empty())
        return element("p", html_text("Nothing is sent: all bytes stay where they are."));
    return on_demand("The pairs that send the most",
                     html_table("Who sends to whom, largest first", rows));
}

html conversion_part(json::object const& planned) {
    return element("p", html_text("convert reads " + shown_value(planned, "bytes_read") +
                                  " bytes and writes " + shown_value(planned, "bytes_written") +
                                  " bytes.")) +
           list_table(
               "Files that are written; ranks are counted from 0",
               planned.at("files_written").as_array(),
               {{"rank", "rank"}, {"file", "file"}, {"shards", "shards"}, {"bytes", "bytes"}}) +
           list_table("Read and written by rank", planned.at("by_rank").as_array(),
                      {{"rank", "rank"},
                       {"bytes_read", "bytes read"},
                       {"bytes_written", "bytes written"}}) +
           list_table("Read by file", planned.at("files_read").as_array(),
                      {{"file", "file"}, {"bytes", "bytes"}});
}

html rounds_part(shown_plan const& shown) {
    html const picture{
        "<svg class=\"time\" role=\"img\" aria-label=\"the rounds\" viewBox=\"-30 20 700 265\">\n" +
        draw_timeline(shown.rounds, shown.budget, {0, 0}) + "</svg>\n"};
    return element("p",
                   html_text(counted(shown.rounds.size(), "round") +
                             (shown.budget ? " within " + grouped(*shown.budget) + " bytes a rank"
                                           : ", since no --memory-budget is given") +
                             ". Each is as wide as the bytes that it writes, and as high as the "
                             "largest memory of any rank in it."),
                   "class=\"soft\"") +
           picture +
           list_table("Rounds", shown.document.at("rounds").as_array(),
                      {{"keys", "keys"},
                       {"first_key", "first key"},
                       {"bytes", "bytes"},
                       {"peak_bytes", "peak memory"},
                       {"peak_rank", "of rank"}});
}

/// The load of links over time.
html network_part(simulated_plan const& plan) {
    reshard::vector<link_strip> const links = busiest_links(plan.run);
    std::string const height = svg_number(link_timelines_size(links.size()).y);
    return element("p", html_text(bound_text(plan)), "class=\"soft\"") +
           html{"<svg class=\"time\" role=\"img\" aria-label=\"the busiest links over time\" "
                "viewBox=\"0 0 700 " +
                height + "\">\n" +
                draw_link_timelines(links, plan.run.least_seconds(), {0, 0},
                                    plan.run.links.size() - links.size()) +
                "</svg>\n"} +
           html_table("The busiest links", rows_of(links));
}

html by_rank_part(json::object const& document) {
    return list_table("By rank, in bytes; the peak is the memory of a rank",
                      document.at("by_rank").as_array(),
                      {{"rank", "rank"},
                       {"bytes_in", "in"},
                       {"bytes_out", "out"},
                       {"bytes_local", "local"},
                       {"messages_in", "messages"},
                       {"peak_bytes", "peak"}});
}

html remarks_part(reshard::vector<std::string> const& remarks) {
    html list;
    for (std::string const& text : remarks)
        list.text += element("p", html_text(text)).text;
    return section("Warnings", list);
}

/// The names of source and target.
html sides_text(shown_plan const& shown) {
    std::string const noun = shown.from.checkpoint ? "file" : "rank";
    return element("p",
                   html_text("From " + shown.source + " (" +
                             counted(shown.from.held.holders, noun) + ") to " + shown.target +
                             " (" + counted(shown.to.holders, "rank") + ")."),
                   "class=\"soft\"");
}

html layouts_part(shown_plan const& shown) {
    layout const &from = shown.from.held, &to = shown.to;
    shown_layout const before = shown.from.checkpoint
                                    ? shown_layout{from, "file", file_names(*shown.from.checkpoint)}
                                    : shown_layout{from, "rank", rank_names(from.holders)};
    return section("Holders afterwards",
                   layout_part({to, "rank", rank_names(to.holders), shown.ranks})) +
           section("Holders before", layout_part(before));
}

} // namespace

std::string plan_page(shown_plan const& shown) {
    html body = sides_text(shown) + facts_of(shown);
    if (!shown.remarks.empty())
        body = body + remarks_part(shown.remarks);
    if (auto const* const planned = shown.document.if_contains("convert"))
        body =
            body + section("What convert reads and writes", conversion_part(planned->as_object()));
    body = body + layouts_part(shown);
    bool const has_files = shown.from.checkpoint.has_value();
    body = body + section(has_files ? "Bytes from each file to each rank" : "Who sends to whom",
                          heat_picture(shown.bins) + pair_table(shown.bins));
    html const in_memory =
        has_files
            ? element("p",
                      html_text("As if file i of the checkpoint were in the memory of rank i."),
                      "class=\"soft\"")
            : html();
    body = body + section("Bytes by rank", in_memory + by_rank_part(shown.document)) +
           section("Rounds", in_memory + rounds_part(shown));
    if (shown.simulated)
        body = body + section("Links over time", network_part(*shown.simulated));
    return html_page("Plan: " + shown.source + " to " + shown.target, body, shown.document);
}

} // namespace tool
