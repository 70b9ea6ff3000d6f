// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_FINDING_IPP
#define RESHARD_AOA_IMPL_FINDING_IPP

#include <reshard/aoa/finding.hpp>

#include <reshard/aoa/place.hpp>

#include <algorithm>

namespace reshard::aoa {

RESHARD_DECL finding const* first_error_of(std::vector<finding> const& findings) {
    for (finding const& one : findings)
        if (one.level == detail::severity::error)
            return &one;
    return nullptr;
}

RESHARD_DECL std::vector<std::string> macro_chain(program const& whole, std::uint32_t origin) {
    std::vector<std::string> chain;
    for (; !whole.origin(origin).macro.empty(); origin = whole.origin(origin).parent)
        chain.push_back(std::string(whole.origin(origin).macro) + " from " +
                        detail::place_text(whole, whole.origin(origin).where));
    return chain;
}

RESHARD_DECL std::string kind_of(finding const& one) {
    std::string kind =
        one.level == detail::severity::error ? one.code : std::string(detail::name_of(one.level));
    std::ranges::replace(kind, '_', ' ');
    return kind;
}

RESHARD_DECL std::string describe_as(program const& whole, finding const& one,
                                     std::string const& kind) {
    bool const placed = one.where.last > one.where.first;
    std::string const file = whole.file().empty() ? "program" : whole.file();
    std::string text =
        (placed ? detail::place_text(whole, one.where) : file) + ": " + kind + one.message;
    if (placed)
        text += '\n' + detail::excerpt(whole.line_at(one.where.first));
    for (std::string const& macro : macro_chain(whole, one.origin))
        text += "\n  expanded by " + macro;
    return text;
}

} // namespace reshard::aoa

#endif
