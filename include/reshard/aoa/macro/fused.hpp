// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_FUSED_HPP
#define RESHARD_AOA_MACRO_FUSED_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/parts.hpp>
#include <reshard/core/config.hpp>

#include <span>
#include <string_view>
#include <vector>

/// \file
/// What the fused macros share: their arguments by name, and pieces that are split and put
/// together.

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

/// Replaces `s -> d, fused_ffn`, `s -> gate, up, fused_ffn` and `gate, up -> d, fused_ffn` by
/// splits and concats that know how both sides cut the fused tensor.
///
/// \throws     failed_statement with errc::bad_macro for another form, an attribute it does not
///             have, or parts that cannot be told
/// \par Source the fused_ffn macro of AOA (PaddlePaddle flex_checkpoint); there the number of parts
///             is that of different offsets along any axis, and 1 for a transposed tensor
RESHARD_DECL void expand_fused_ffn(macro_context& context, statement const& one,
                                   std::vector<statement>& expanded);

/// The first name that has stood before in the list, or null.
///
/// \pre each is a text or a temporary
RESHARD_DECL name const* repeated_name(std::span<name const> names);

/// Whether a statement has the word of a macro.
RESHARD_DECL bool is_fused(macro_context const& context, statement const& one,
                           std::string_view word);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/fused.ipp>
#endif

#endif
