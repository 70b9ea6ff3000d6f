// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_PRINT_HPP
#define RESHARD_AOA_PRINT_HPP

#include <reshard/aoa/fresh_names.hpp>
#include <reshard/aoa/statement_text.hpp>
#include <reshard/layout/catalog.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Program to text, so that `parse(print(p)) == p` up to the names of temporaries.

namespace reshard::aoa {

/// The statements as lines of text.
inline std::vector<std::string>
print_lines(program const& whole, std::function<bool(std::string_view)> const& is_taken = {}) {
    std::vector<std::string> const fresh = fresh_names(whole, is_taken);
    std::vector<std::string> lines;
    lines.reserve(whole.statements().size());
    for (statement const& one : whole.statements())
        lines.push_back(detail::statement_text(whole, one, [&](name const& each) {
            return each.kind == name::kind_type::fresh ? detail::quoted_name(fresh[each.id])
                                                       : detail::bare_name_text(whole, each);
        }));
    return lines;
}

/// The program as text, a statement a line.
///
/// \post `parse(print(p)) == p` when `p` has no temporaries, else the same up to their names
inline std::string print(program const& whole,
                         std::function<bool(std::string_view)> const& is_taken = {}) {
    std::string text;
    for (std::string const& line : print_lines(whole, is_taken))
        text += line + '\n';
    return text;
}

/// The same for a program that is read again with those tensors: no temporary is called like one of
/// them, which the program would then make.
inline std::string print(program const& whole, catalog const& source, catalog const& target) {
    return print(whole, [&](std::string_view key) { return source.find(key) || target.find(key); });
}

} // namespace reshard::aoa

#endif
