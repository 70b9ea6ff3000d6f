// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_FUSED_QKV_HPP
#define RESHARD_AOA_MACRO_FUSED_QKV_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/core/config.hpp>

#include <vector>

/// \file
/// Query, key and value projections in one tensor, by groups of heads.

namespace reshard::aoa::detail {

/// Replaces `q, k, v -> d, fused_qkv, ...` and `s -> q, k, v, fused_qkv, ...` by splits and
/// concats. The fused tensor has, of each group of heads, its queries, its key, its value; how it
/// is cut does not matter.
///
/// \throws     failed_statement with errc::bad_macro for another form, a number that is missing or
///             does not fit, or an attribute it does not have
/// \par Source the fused_qkv macro of AOA (PaddlePaddle flex_checkpoint), where
///             `num_key_value_groups` is the number of key heads
RESHARD_DECL void expand_fused_qkv(macro_context& context, statement const& one,
                                   std::vector<statement>& expanded);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/fused_qkv.ipp>
#endif

#endif
