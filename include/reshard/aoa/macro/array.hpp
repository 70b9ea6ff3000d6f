// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_ARRAY_HPP
#define RESHARD_AOA_MACRO_ARRAY_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/core/config.hpp>

#include <vector>

/// \file
/// `w[0:3]` becomes `w_0, w_1, w_2`.

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

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/array.ipp>
#endif

#endif
