// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_FINDING_IPP
#define RESHARD_AOA_IMPL_FINDING_IPP

#include <reshard/aoa/finding.hpp>

#include <reshard/aoa/place.hpp>

#include <algorithm>

namespace reshard::aoa {

RESHARD_DECL finding const* first_error_of(std::span<finding const> findings) {
    for (finding const& finding : findings)
        if (finding.level == detail::severity::error)
            return &finding;
    return nullptr;
}

RESHARD_DECL vector<std::string> macro_chain(program const& whole_program, std::uint32_t origin) {
    vector<std::string> chain;
    for (; !whole_program.origin(origin).macro.empty();
         origin = whole_program.origin(origin).parent)
        chain.push_back(std::string(whole_program.origin(origin).macro) + " from " +
                        detail::place_text(whole_program, whole_program.origin(origin).where));
    return chain;
}

RESHARD_DECL std::string kind_of(finding const& finding) {
    std::string kind = finding.level == detail::severity::error
                           ? finding.code
                           : std::string(detail::name_of(finding.level));
    std::ranges::replace(kind, '_', ' ');
    return kind;
}

RESHARD_DECL std::string describe_as(program const& whole_program, finding const& finding,
                                     std::string const& kind) {
    bool const placed = finding.where.last > finding.where.first;
    std::string const file = whole_program.file().empty() ? "program" : whole_program.file();
    std::string text = (placed ? detail::place_text(whole_program, finding.where) : file) + ": " +
                       kind + finding.message;
    if (placed)
        text += '\n' + detail::excerpt(whole_program.line_at(finding.where.first));
    for (std::string const& macro : macro_chain(whole_program, finding.origin))
        text += "\n  expanded by " + macro;
    return text;
}

} // namespace reshard::aoa

#endif
