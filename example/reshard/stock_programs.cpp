// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "stock_programs.hpp"

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>

#include <algorithm>

namespace tool {

namespace {

/// Adds what a line names, where it names a program.
void add_named(std::vector<stock_program>& all, std::string_view line, std::string_view text) {
    for (std::string_view const begin : {program_line, backwards_line}) {
        std::size_t const colon = line.find(": ");
        if (line.starts_with(begin) && colon != line.npos)
            all.push_back({line.substr(begin.size(), colon - begin.size()), line.substr(colon + 2),
                           text, begin == backwards_line});
    }
}

std::vector<stock_program> read_names() {
    std::vector<stock_program> all;
    for (std::string_view const text : stock_texts)
        for (std::size_t at = 0; at < text.size();) {
            std::size_t const end = std::min(text.find('\n', at), text.size());
            add_named(all, text.substr(at, end - at), text);
            at = end + 1;
        }
    std::ranges::sort(all, {}, &stock_program::name);
    return all;
}

} // namespace

std::vector<stock_program> const& stock_programs() {
    static std::vector<stock_program> const all = read_names();
    return all;
}

stock_program const& find_stock_program(std::string_view name) {
    auto const& all = stock_programs();
    auto const found = std::ranges::lower_bound(all, name, {}, &stock_program::name);
    if (found == all.end() || found->name != name)
        reshard::fail(reshard::errc::usage, "reshard: unknown program '@", name, "'",
                      reshard::detail::did_you_mean(name, all, &stock_program::name),
                      "; reshard programs lists them");
    return *found;
}

} // namespace tool
