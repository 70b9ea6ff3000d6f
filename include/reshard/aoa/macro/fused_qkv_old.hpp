// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_FUSED_QKV_OLD_HPP
#define RESHARD_AOA_MACRO_FUSED_QKV_OLD_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/core/config.hpp>

#include <vector>

/// \file
/// Query, key and value projections in one tensor, by the ranks that hold it.

namespace reshard::aoa::detail {

/// Replaces `s -> d`, `s -> q, k, v` and `q, k, v -> d`, each with `fused_qkv_old`, by splits and
/// concats. The fused tensor has, for each part that it is cut into, its queries, its keys, its
/// values.
///
/// \throws     failed_statement with errc::bad_macro for another form, a number that is missing or
///             does not fit, heads that do not divide into the parts, or an attribute it does not
///             have
/// \par Source the fused_qkv_old macro of AOA (PaddlePaddle flex_checkpoint); there heads that do
///             not divide are lost
RESHARD_DECL void expand_fused_qkv_old(macro_context& context, statement const& one,
                                       std::vector<statement>& expanded);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/fused_qkv_old.ipp>
#endif

#endif
