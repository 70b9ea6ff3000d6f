// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_CHECK_HPP
#define RESHARD_AOA_CHECK_HPP

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/expr/losses.hpp>

#include <cstdint>
#include <string>

/// \file
/// All checks of a program before any byte moves.

namespace reshard::aoa {

/// Options of `check`.
struct check_options {
    expand_options expanding = {};
    lower_options lowering = {};
};

/// A loss of a source tensor, and the statement that causes it.
struct data_loss {
    detail::loss lost;
    std::string text;         ///< the words after the tensor's key
    text_span where = {};     ///< the statement; empty if nothing uses the tensor
    std::uint32_t origin = 0; ///< origin of the statement
};

/// The result of checking a program.
struct program_report {
    program code; ///< the program without macros; `describe(code, finding)` prints a finding
    vector<finding> findings;
    detail::key_classes keys; ///< if the program has errors, only the keys that are known
    vector<data_loss> losses; ///< empty if there are errors

    bool ok() const;
    bool invertible() const { return ok() && losses.empty(); }
};

/// The reason why a program cannot be undone; empty if it can.
RESHARD_DECL std::string why_not_invertible(program_report const& of);

/// Reports on a program that has been expanded and lowered.
///
/// \pre `expanded.is_complete`
RESHARD_DECL program_report check(expansion const& expanded, lowering const& lowered,
                                  catalog const& source, catalog const* target = nullptr);

/// All findings about a program for the tensors of `source` and `target`; the target may be
/// unknown. They are the findings of `expand_all` and `lower_all`. If none is an error, they
/// include the findings of `check` on the mapping, each with its statement if it is known.
///
/// Each fault is reported once, without its consequences.
RESHARD_DECL program_report check(program const& written, catalog const& source,
                                  catalog const* target = nullptr,
                                  check_options const& options = {});

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/check.ipp>
#endif

#endif
