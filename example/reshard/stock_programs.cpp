// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "stock_programs.hpp"

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>

#include <algorithm>

namespace tool {

namespace {

/// The name and the description in a line that starts with `begin`; both empty for any other line.
program_switch named_by(std::string_view line, std::string_view begin) {
    std::size_t const colon = line.find(": ");
    if (!line.starts_with(begin) || colon == line.npos)
        return {};
    return {line.substr(begin.size(), colon - begin.size()), line.substr(colon + 2)};
}

/// Adds the programs that a text defines, with its switches.
void add_named(reshard::vector<stock_program>& programs, std::string_view text) {
    reshard::vector<program_switch> switches;
    std::size_t const first = programs.size();
    for (std::size_t at = 0; at < text.size();) {
        std::size_t const end = std::min(text.find('\n', at), text.size());
        std::string_view const line = text.substr(at, end - at);
        for (std::string_view const begin : {program_line, backwards_line})
            if (auto const [name, description] = named_by(line, begin); !name.empty())
                programs.push_back({name, description, text, begin == backwards_line});
        if (program_switch const program_switch = named_by(line, switch_line);
            !program_switch.name.empty())
            switches.push_back(program_switch);
        at = end + 1;
    }
    for (std::size_t i = first; i < programs.size(); ++i)
        programs[i].switches = switches;
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
