// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_TRANSPOSE_HPP
#define RESHARD_AOA_MACRO_TRANSPOSE_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/core/config.hpp>

#include <vector>

/// \file
/// `a^T -> b` becomes a statement that transposes `a` into a temporary, and one that uses it.

namespace reshard::aoa::detail {

/// Replaces each `x^T` by a temporary, which a statement before it makes of `x` with all axes
/// reversed.
///
/// Finding: errc::bad_macro for `x^T` right of the arrow.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the transpose macro of AOA (PaddlePaddle flex_checkpoint), which reverses all axes
///             too
RESHARD_DECL void expand_transpose(macro_context& context, std::vector<statement>& statements);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/transpose.ipp>
#endif

#endif
