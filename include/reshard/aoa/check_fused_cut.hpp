// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_CHECK_FUSED_CUT_HPP
#define RESHARD_AOA_CHECK_FUSED_CUT_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/expression.hpp>

/// \file
/// Whether a fused macro can cut a tensor as it has to.

namespace reshard::aoa::detail {

/// Refuses a split that a fused macro made of a tensor that does not divide into its pieces; other
/// statements, and other faults of this one, are the algebra's to find.
///
/// \throws statement_error with errc::shape_mismatch
RESHARD_DECL void check_fused_cut(program const& code, statement const& one,
                                  expression const& tensor);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/check_fused_cut.ipp>
#endif

#endif
