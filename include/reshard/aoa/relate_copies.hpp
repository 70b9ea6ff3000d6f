// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_RELATE_COPIES_HPP
#define RESHARD_AOA_RELATE_COPIES_HPP

#include <reshard/aoa/lower_context.hpp>
#include <reshard/core/config.hpp>

/// \file
/// Tied weights: outputs that are one tensor under several names.

namespace reshard::aoa::detail {

/// Relates each output that is another one's tensor, whole and unchanged, to the first of that
/// value: `w -> a` and `w -> b` make `b` an alias of `a`.
///
/// \par Source in the original, each copy is a tensor of its own, and so is its state
RESHARD_DECL void relate_copies(lower_context& context);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/relate_copies.ipp>
#endif

#endif
