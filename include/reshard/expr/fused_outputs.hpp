// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_FUSED_OUTPUTS_HPP
#define RESHARD_EXPR_FUSED_OUTPUTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/fused_tensor.hpp>
#include <reshard/layout/layout.hpp>

#include <optional>
#include <string>

/// \file
/// Fused tensors on their way through a mapping, and whether a layout may cut them so.

namespace reshard::detail {

/// What is known of a fused tensor of that shape still holds for `made`, which is all of it, with
/// its axes in any order; nothing where it is something else.
RESHARD_DECL std::optional<fused_tensor> fused_after(fused_tensor known, index_vector const& shape,
                                                     expression const& made);

/// Declares what is known of `source` of each output that is one of its fused tensors, whole, with
/// its axes in any order; and of the state of a fused output what is known of the output.
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
