// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_LOWER_HPP
#define RESHARD_AOA_LOWER_HPP

#include <reshard/aoa/lower_context.hpp>
#include <reshard/core/config.hpp>

/// \file
/// Program to mapping: what each target tensor is made of.

namespace reshard::aoa::detail {

/// Relates each output that is another one's tensor, whole and unchanged, to the first of that
/// value: `w -> a` and `w -> b` make `b` an alias of `a`.
///
/// \par Source in the original, each copy is a tensor of its own, and so is its state
RESHARD_DECL void relate_copies(lower_context& context);

} // namespace reshard::aoa::detail

namespace reshard::aoa {

/// Runs an expanded program on the tensors of `source` and says what each tensor of `target` is
/// made of; where the target is unknown, of each tensor that the program leaves over.
///
/// Every error is a finding; a statement that reads what an error has left without a value is
/// passed over.
RESHARD_DECL lowering lower_all(program const& expanded, catalog const& source,
                                catalog const* target = nullptr, lower_options const& options = {});

/// The same; the first error is thrown.
///
/// A key of the target that no statement makes is the source tensor of that name. Optimizer state
/// follows its parameter.
///
/// \throws     error, with the place in the text, a caret and the chain of macros:
///             errc::unknown_key, errc::shape_mismatch, errc::dtype_mismatch, errc::syntax for
///             attributes that do not fit, errc::unsupported
/// \par Source 4 of the description of AOA (PaddlePaddle flex_checkpoint); there definitions are
///             not compared with the target's shapes, types only by parts of their names, and a
///             removed tensor leaves what is made of it unfilled
RESHARD_DECL mapping lower(program const& expanded, catalog const& source,
                           catalog const* target = nullptr, lower_options const& options = {});

/// The mapping of a program as it was written: expanded, then lowered. So a program is an
/// `any_program`.
///
/// \throws error as `expand` and `lower`
RESHARD_DECL mapping mapping_of(program const& written, catalog const& source,
                                catalog const* target = nullptr);

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/lower.ipp>
#endif

#endif
