// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_STAR_HPP
#define RESHARD_AOA_MACRO_STAR_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/core/config.hpp>

#include <vector>

/// \file
/// `e.*.w` becomes all keys that are `e.`, a number, `.w`.

namespace reshard::aoa::detail {

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
