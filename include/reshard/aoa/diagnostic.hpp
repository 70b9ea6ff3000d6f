// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_DIAGNOSTIC_HPP
#define RESHARD_AOA_DIAGNOSTIC_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// \file
/// What a stage says of a program, with the place in the text, a caret and the chain of macros.

namespace reshard::aoa {

/// The macros that made a statement, the last one first, each as `fused_ffn from model.aoa:1:1`.
RESHARD_DECL std::vector<std::string> macro_chain(program const& whole, std::uint32_t origin);

/// What a finding is, as it stands in messages: of an error its code, otherwise how bad it is.
RESHARD_DECL std::string kind_of(finding const& one);

/// A finding behind words that say what it is: place, sentence, the line with a caret, the chain.
RESHARD_DECL std::string describe_as(program const& whole, finding const& one,
                                     std::string const& kind);

/// The sentence of a finding, the line with a caret, and the chain of macros.
///
/// \par Source `model.aoa:3:9: shape mismatch: ...`; notes and warnings say so instead of a code
inline std::string describe(program const& whole, finding const& one) {
    return describe_as(whole, one, kind_of(one) + ": ");
}

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/diagnostic.ipp>
#endif

#endif
