// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_FUSED_FFN_HPP
#define RESHARD_AOA_MACRO_FUSED_FFN_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/core/config.hpp>

#include <span>
#include <vector>

/// \file
/// The gate and the up projection in one tensor, of which each rank holds its part of both.

namespace reshard::aoa::detail {

/// The pieces as they lie in a tensor of `parts` parts: of each part first the gate, then the up.
RESHARD_DECL std::vector<name> ffn_order(std::span<name const> gate, std::span<name const> up,
                                         index_t parts);

/// Replaces `s -> d, fused_ffn`, `s -> gate, up, fused_ffn` and `gate, up -> d, fused_ffn` by
/// splits and concats that know how both sides cut the fused tensor.
///
/// \throws     failed_statement with errc::bad_macro for another form, an attribute it does not
///             have, or parts that cannot be told
/// \par Source the fused_ffn macro of AOA (PaddlePaddle flex_checkpoint); there the number of parts
///             is that of different offsets along any axis, and 1 for a transposed tensor
RESHARD_DECL void expand_fused_ffn(macro_context& context, statement const& one,
                                   std::vector<statement>& expanded);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/fused_ffn.ipp>
#endif

#endif
