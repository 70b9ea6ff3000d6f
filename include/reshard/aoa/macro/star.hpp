// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_STAR_HPP
#define RESHARD_AOA_MACRO_STAR_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/core/config.hpp>

#include <vector>

/// \file
/// `e.*.w` becomes all keys that are `e.`, a number, `.w`.

namespace reshard::aoa::detail {

/// A name of the segments that are left: a text where they are all text.
RESHARD_DECL name make_name(program& code, std::vector<segment> segments, name const& like);

/// Replaces each name with `[a:b]` by the names with `_a`, ..., `_(b-1)` behind them.
///
/// \throws     failed_statement with errc::bad_macro for a range without numbers
/// \par Source the array macro of AOA (PaddlePaddle flex_checkpoint); there such a range deletes
///             the name
RESHARD_DECL void expand_array(macro_context& context, statement const& one,
                               std::vector<statement>& expanded);

/// Replaces each name with `*` by the keys that equal it with a number for `*`, in numeric order:
/// keys of the source left of the arrow or, where none matches, names that earlier statements make;
/// keys of the target right of it. `e.*.w -> _` removes each of them, `_ -> e.*.w` adds each.
///
/// Findings: errc::bad_macro for two stars, a star with `^T`, or one on the right without a target;
/// errc::unknown_key when nothing matches.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the star macro of AOA (PaddlePaddle flex_checkpoint); there keys of the source alone
RESHARD_DECL void expand_star(macro_context& context, std::vector<statement>& statements);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/star.ipp>
#endif

#endif
