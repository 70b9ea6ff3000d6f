// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_PRINT_IPP
#define RESHARD_AOA_IMPL_PRINT_IPP

#include <reshard/aoa/print.hpp>

#include <reshard/aoa/fresh_names.hpp>
#include <reshard/aoa/statement_text.hpp>

namespace reshard::aoa {

RESHARD_DECL std::vector<std::string>
print_lines(program const& whole, std::function<bool(std::string_view)> const& is_taken) {
    std::vector<std::string> const fresh = detail::fresh_names(whole, is_taken);
    std::vector<std::string> lines;
    lines.reserve(whole.statements().size());
    for (statement const& one : whole.statements())
        lines.push_back(detail::statement_text(whole, one, [&](name const& each) {
            return each.kind == name::kind_type::fresh ? detail::quoted_name(fresh[each.id])
                                                       : detail::bare_name_text(whole, each);
        }));
    return lines;
}

RESHARD_DECL std::string print(program const& whole,
                               std::function<bool(std::string_view)> const& is_taken) {
    std::string text;
    for (std::string const& line : print_lines(whole, is_taken))
        text += line + '\n';
    return text;
}

RESHARD_DECL std::string print(program const& whole, catalog const& source, catalog const& target) {
    return print(whole, [&](std::string_view key) { return source.find(key) || target.find(key); });
}

} // namespace reshard::aoa

#endif
