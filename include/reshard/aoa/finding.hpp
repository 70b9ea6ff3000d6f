// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_FINDING_HPP
#define RESHARD_AOA_FINDING_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>

#include <cstdint>
#include <span>
#include <string>

/// \file
/// A message of a stage about a program, as a value.

namespace reshard::aoa {

using reshard::detail::name_of;
using reshard::detail::severity;

/// A finding, and its position in the program.
///
/// `code` is machine-readable. For an error, it is the name of its `errc`. For a warning or note,
/// it is one of `no_match`, `no_effect`, `joined`, `unknown_parts`, `fused_axis`, `cut_group`,
/// `plain_concat`, `left_state`, `other_dtype`, `head_size`, `shadowed`, `replaced`, `overwritten`
/// and, if a full program is checked, `not_used`, `unused` and `rounded`.
struct finding {
    severity level = severity::warning;
    std::string code;
    std::string key; ///< the tensor of the finding, or empty
    std::string message;
    text_span where;          ///< position in the text that the user wrote
    std::uint32_t origin = 0; ///< origin of the statement with the finding

    bool operator==(finding const&) const = default;
};

/// The first error among findings, or null.
RESHARD_DECL finding const* first_error_of(std::span<finding const> findings);

/// An error in one statement, before its position is added.
struct statement_error {
    errc code;
    std::string message;
    text_span where; ///< empty: the full statement
    std::string key = {};
};

/// Thrown by a statement that needs a value which an earlier error prevented. The earlier error has
/// been reported.
struct no_value {};

/// The macros that made a statement, the last macro first, each in the form `fused_ffn from
/// model.aoa:1:1`.
RESHARD_DECL vector<std::string> macro_chain(program const& whole_program, std::uint32_t origin);

/// The kind of a finding in messages: the code of an error, otherwise its severity.
RESHARD_DECL std::string kind_of(finding const& finding);

/// A finding as text: kind, position, sentence, the line with a caret, and the chain of macros.
RESHARD_DECL std::string describe_as(program const& whole_program, finding const& finding,
                                     std::string const& kind);

/// A finding as text: the sentence, the line with a caret, and the chain of macros.
///
/// \par Source `model.aoa:3:9: shape mismatch: ...`; notes and warnings start with their severity
inline std::string describe(program const& whole_program, finding const& finding) {
    return describe_as(whole_program, finding, kind_of(finding) + ": ");
}

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/finding.ipp>
#endif

#endif
