// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_EXPAND_HPP
#define RESHARD_AOA_EXPAND_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/catalog.hpp>

#include <cstddef>
#include <optional>

/// \file
/// Expands the macros of a program into statements.

namespace reshard::aoa {

/// What to do with a statement whose placeholder matches no key.
enum class on_no_match { ignore, warn, error };

/// Options of `expand`.
struct expand_options {
    on_no_match no_match = on_no_match::warn;
    vector<state_suffix> state_suffixes = default_state_suffixes(); ///< tried in this order
    bool reverse = false;              ///< runs backwards: the right sides name source tensors
    std::size_t max_names = 4'194'304; ///< limit, including intermediate statements
    std::size_t max_characters = 268'435'456; ///< limit for names and attributes together
    std::size_t max_steps =
        16'777'216; ///< limit for comparisons of keys with patterns, and for statements that are
                    ///< followed to find how a tensor is cut
};

/// A program without macros, and the findings about it.
struct expansion {
    program code;
    vector<finding> findings;             ///< `describe(code, finding)` prints a finding
    std::optional<errc> first_error = {}; ///< code of the first finding that is an error
    bool is_complete = true; ///< false: a limit ended the expansion, and `code` still has macros
};

/// Expands the statements of `written`. The program reads the tensors of `source` and makes the
/// tensors of `target`, which may be unknown.
///
/// Every error is a finding, and the other statements are still expanded. The results of a
/// statement with an error have no value, and `lower_all` skips statements that read them.
///
/// \post       if the expansion is complete, no name of the result has a placeholder, an array, a
///             star or `^T`, and no word of a macro remains
/// \par Source the macros of AOA (PaddlePaddle flex_checkpoint), section 3 of its description;
///             there they rewrite text, here they replace nodes, and temporaries cannot collide
///             with a name
RESHARD_DECL expansion expand_all(program const& written, catalog const& source,
                                  catalog const* target = nullptr,
                                  expand_options const& options = {});

/// As `expand_all`, but throws the first error.
///
/// \throws error with errc::bad_macro, errc::unknown_key, errc::shape_mismatch or
///         errc::limit_exceeded, with the position in the text, a caret and the chain of macros
RESHARD_DECL expansion expand(program const& written, catalog const& source,
                              catalog const* target = nullptr, expand_options const& options = {});

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/expand.ipp>
#endif

#endif
