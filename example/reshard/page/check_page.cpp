// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "page/check_page.hpp"
#include "page/html.hpp"

#include "report.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <set>
#include <sstream>

namespace tool {

namespace json = boost::json;

namespace {

constexpr std::size_t most_findings = 500, most_lines = 5000;

std::string text_at(json::object const& object, char const* name) {
    return std::string(object.at(name).as_string());
}

html count_of(std::size_t count, std::string const& severity) {
    return count_fact(count, severity, count == 0 ? "" : severity);
}

html verdict(json::object const& document) {
    std::size_t counts[3] = {};
    for (json::value const& value : document.at("findings").as_array()) {
        std::string const severity = text_at(value.as_object(), "severity");
        ++counts[severity == "error" ? 0 : severity == "warning" ? 1 : 2];
    }
    bool const ok = document.at("ok").as_bool();
    return element(
        "div",
        fact(ok ? "ok" : "refused", "the program", ok ? "ok" : "error") +
            count_of(counts[0], "error") + count_of(counts[1], "warning") +
            count_of(counts[2], "note") +
            fact(document.at("invertible").as_bool() ? "yes" : "no", "can be undone", ""),
        "class=\"facts\"");
}

/// For example `fuse.aoa:3:1`, or the file alone.
std::string place_text(json::object const& object) {
    std::string text = text_at(object, "file");
    if (object.at("line").is_number())
        text += ":" + std::to_string(object.at("line").to_number<std::int64_t>()) + ":" +
                std::to_string(object.at("column").to_number<std::int64_t>());
    return text;
}

/// The line of a finding, with the lines below it. Omits the first line of `text`, which the page
/// already shows above.
html source_part(std::string const& text) {
    std::size_t const end = text.find('\n');
    return end == text.npos ? html() : element("pre", html_text(text.substr(end + 1)));
}

html finding_part(json::object const& object, std::string const& text) {
    std::string const severity = text_at(object, "severity");
    std::string const key = text_at(object, "key");
    return element("div",
                   element("b", html_text(severity)) +
                       html_text(" " + text_at(object, "code") + (key.empty() ? "" : ", " + key)) +
                       element("p", html_text(text_at(object, "message"))) +
                       element("p", html_text(place_text(object)), "class=\"soft place\"") +
                       source_part(text),
                   "class=\"finding " + severity + "\"");
}

html findings_part(json::object const& document, reshard::vector<std::string> const& texts) {
    json::array const& findings = document.at("findings").as_array();
    html list;
    for (std::size_t i = 0; i < std::min(findings.size(), most_findings); ++i)
        list.text += finding_part(findings[i].as_object(), texts[i]).text;
    if (findings.empty())
        list = element("p", html_text("Nothing."));
    if (findings.size() > most_findings)
        list = list +
               element("p",
                       html_text("and " + counted(findings.size() - most_findings, "more finding") +
                                 "; --json lists all"));
    return section("Findings", list);
}

html keys_part(json::object const& keys) {
    reshard::vector<reshard::vector<std::string>> rows{{"what becomes of keys", "how many"}};
    html lists;
    for (auto const& [noun, names] : keys) {
        json::array const& array = names.as_array();
        rows.push_back({std::string(noun), grouped(static_cast<index_t>(array.size()))});
        if (array.empty())
            continue;
        std::string text;
        for (std::size_t i = 0; i < std::min(array.size(), most_findings); ++i)
            text += std::string(array[i].as_string()) + "\n";
        if (array.size() > most_findings)
            text += "and " + grouped(static_cast<index_t>(array.size() - most_findings)) +
                    " more; --json lists all\n";
        lists.text += on_demand(std::string(noun), element("pre", html_text(text))).text;
    }
    return section("Keys",
                   html_table("Tensors of the target, and those that are removed", rows) + lists);
}

/// The program, in which the lines with findings are marked.
html program_part(json::object const& document, std::string const& file,
                  std::string const& program) {
    std::set<std::int64_t> marked;
    for (json::value const& value : document.at("findings").as_array())
        if (auto const& line = value.as_object().at("line"); line.is_number())
            marked.insert(line.to_number<std::int64_t>());
    html lines;
    std::istringstream text(program);
    std::int64_t number = 0;
    for (std::string line;
         number < static_cast<std::int64_t>(most_lines) && std::getline(text, line);)
        lines.text +=
            element("span", html_text(line), marked.contains(++number) ? "class=\"hit\"" : "").text;
    return section("The program " + file, element("pre", lines, "class=\"code\""));
}

} // namespace

std::string check_page(json::object const& document, reshard::vector<std::string> const& texts,
                       std::string const& file, std::string const& program) {
    html undone;
    if (auto const& why = document.at("why_not"); why.is_string())
        undone = element("p", html_text("It cannot be undone: " + std::string(why.as_string())),
                         "class=\"soft\"");
    return html_page("Check of " + file,
                     verdict(document) + undone + findings_part(document, texts) +
                         keys_part(document.at("keys").as_object()) +
                         program_part(document, file, program),
                     document);
}

} // namespace tool
