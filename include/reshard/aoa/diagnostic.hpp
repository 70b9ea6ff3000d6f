// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_DIAGNOSTIC_HPP
#define RESHARD_AOA_DIAGNOSTIC_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/place.hpp>
#include <reshard/aoa/program.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// What a stage says of a program, with the place in the text, a caret and the chain of macros.

namespace reshard::aoa {

/// The macros that made a statement, the last one first, each as `fused_ffn from model.aoa:1:1`.
inline std::vector<std::string> macro_chain(program const& whole, std::uint32_t origin) {
    std::vector<std::string> chain;
    for (; !whole.origin(origin).macro.empty(); origin = whole.origin(origin).parent)
        chain.push_back(std::string(whole.origin(origin).macro) + " from " +
                        place_text(whole, whole.origin(origin).where));
    return chain;
}

/// What a finding is, as it stands in messages: of an error its code, otherwise how bad it is.
inline std::string kind_of(finding const& one) {
    std::string kind = one.level == severity::error ? one.code : std::string(name_of(one.level));
    std::ranges::replace(kind, '_', ' ');
    return kind;
}

/// A finding behind words that say what it is: place, sentence, the line with a caret, the chain.
inline std::string describe_as(program const& whole, finding const& one, std::string const& kind) {
    bool const placed = one.where.last > one.where.first;
    std::string const file = whole.file().empty() ? "program" : whole.file();
    std::string text = (placed ? place_text(whole, one.where) : file) + ": " + kind + one.message;
    if (placed)
        text += '\n' + excerpt(whole.line_at(one.where.first));
    for (std::string const& macro : macro_chain(whole, one.origin))
        text += "\n  expanded by " + macro;
    return text;
}

/// The sentence of a finding, the line with a caret, and the chain of macros.
///
/// \par Source `model.aoa:3:9: shape mismatch: ...`; notes and warnings say so instead of a code
inline std::string describe(program const& whole, finding const& one) {
    return describe_as(whole, one, kind_of(one) + ": ");
}

} // namespace reshard::aoa

#endif
