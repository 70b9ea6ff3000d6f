// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "stock_programs.hpp"

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>

#include <algorithm>
#include <utility>

namespace tool {

namespace {

/// The name and the description in a line that starts with `begin`; both empty for any other line.
program_switch named_by(std::string_view line, std::string_view begin) {
    line = line.substr(0, line.find('\n'));
    std::size_t const colon = line.find(": ");
    if (!line.starts_with(begin) || colon == line.npos)
        return {};
    return {line.substr(begin.size(), colon - begin.size()), line.substr(colon + 2)};
}

/// A text and what replaces it.
using replacement = std::pair<std::string_view, std::string_view>;

/// Adds the replacements in a line `#! names OLD -> NEW, OLD -> NEW`.
void add_replacements(reshard::vector<replacement>& pairs, std::string_view line) {
    constexpr std::string_view arrow = " -> ", comma = ", ";
    for (line.remove_prefix(names_line.size()); !line.empty();) {
        std::size_t const end = std::min(line.find(comma), line.size()), at = line.find(arrow);
        pairs.emplace_back(line.substr(0, at),
                           line.substr(at + arrow.size(), end - at - arrow.size()));
        line.remove_prefix(std::min(end + comma.size(), line.size()));
    }
}

/// A line in which all texts are replaced at once: no replacement sees the result of another.
std::string replaced(std::string_view line, reshard::vector<replacement> const& pairs) {
    std::string text;
    while (!line.empty()) {
        auto const match = std::ranges::find_if(
            pairs, [&](replacement const& pair) { return line.starts_with(pair.first); });
        text += match == pairs.end() ? line.substr(0, 1) : match->second;
        line.remove_prefix(match == pairs.end() ? 1 : match->first.size());
    }
    return text;
}

/// The lines of a text, each with its line break.
reshard::vector<std::string_view> lines_of(std::string_view text) {
    reshard::vector<std::string_view> lines;
    while (!text.empty()) {
        std::size_t const end = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

bool is_of_header(std::string_view line) {
    return line.starts_with(program_line) || line.starts_with(backwards_line) ||
           line.starts_with(names_line) || line.starts_with(switch_line);
}

/// The text of the programs that `header` names: without the names of the others.
std::string text_of(reshard::vector<std::string_view> const& lines,
                    reshard::vector<std::string_view> const& header) {
    std::string text;
    reshard::vector<replacement> pairs;
    for (std::string_view const line : header)
        if (line.starts_with(names_line))
            add_replacements(pairs, line.substr(0, line.find('\n')));
        else
            text += line;
    for (std::string_view const line : lines)
        if (!is_of_header(line))
            text += replaced(line, pairs);
    return text;
}

/// Adds the programs that a text defines. A line `#! program` begins the header of a program, to
/// which the lines `#! backwards`, `#! names` and `#! switch` below it belong.
void add_named(reshard::vector<stock_program>& programs, std::string_view text) {
    reshard::vector<std::string_view> const lines = lines_of(text);
    reshard::vector<reshard::vector<std::string_view>> headers;
    for (std::string_view const line : lines) {
        if (line.starts_with(program_line))
            headers.emplace_back();
        if (is_of_header(line))
            headers.back().push_back(line);
    }
    for (auto const& header : headers) {
        reshard::vector<program_switch> switches;
        for (std::string_view const line : header)
            if (auto const one = named_by(line, switch_line); !one.name.empty())
                switches.push_back(one);
        for (std::string_view const line : header)
            for (std::string_view const begin : {program_line, backwards_line})
                if (auto const [name, description] = named_by(line, begin); !name.empty())
                    programs.push_back({name, description, text_of(lines, header),
                                        begin == backwards_line, switches});
    }
}

reshard::vector<stock_program> read_names() {
    reshard::vector<stock_program> programs;
    for (std::string_view const text : stock_texts)
        add_named(programs, text);
    std::ranges::sort(programs, {}, &stock_program::name);
    return programs;
}

} // namespace

reshard::vector<stock_program> const& stock_programs() {
    static reshard::vector<stock_program> const programs = read_names();
    return programs;
}

stock_program const& find_stock_program(std::string_view name) {
    name.remove_prefix(name.starts_with('@') ? 1 : 0);
    auto const& elements = stock_programs();
    auto const match = std::ranges::lower_bound(elements, name, {}, &stock_program::name);
    if (match == elements.end() || match->name != name)
        reshard::fail(reshard::errc::usage, "reshard: unknown program '@", name, "'",
                      reshard::detail::did_you_mean(name, elements, &stock_program::name),
                      "; reshard programs lists them");
    return *match;
}

} // namespace tool
