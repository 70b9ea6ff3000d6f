// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_FUSED_OUTPUTS_HPP
#define RESHARD_EXPR_FUSED_OUTPUTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>

#include <optional>
#include <vector>

/// \file
/// Fused tensors on their way through a mapping, and whether a layout may cut them so.

namespace reshard::detail {

/// Declares what is known of `source` of each output that is made of its fused tensors, all fused
/// alike, with all blocks of each side by side: one of them with its axes in any order, some of its
/// columns, or several of them stacked along another axis; and of the state of a fused output what
/// is known of the output.
RESHARD_DECL void carry_fused(mapping& program, layout const& source);

/// The first of the fused outputs that `target` cuts, and not into the parts that it was made for,
/// with the statement that makes it what the layout needs; nothing where there is none.
RESHARD_DECL std::optional<std::string> find_fused_fault(mapping const& program,
                                                         layout const& target);

/// \throws error with errc::bad_layout, saying the first fault
RESHARD_DECL void check_fused(mapping const& program, layout const& target);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/fused_outputs.ipp>
#endif

#endif
