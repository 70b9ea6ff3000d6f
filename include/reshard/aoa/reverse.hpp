// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_REVERSE_HPP
#define RESHARD_AOA_REVERSE_HPP

#include <reshard/aoa/reverse_options.hpp>
#include <reshard/core/config.hpp>

/// \file
/// Program to program: from what a program makes back to what it is made of.

namespace reshard::aoa {

/// The program that makes the tensors of `source` of those of `target`, and what there is to say.
///
/// `source` and `target` are those of `expanded`, as it stands: what it reads and what it makes;
/// without a target, what it leaves over. Where the result is to be run, `target` is its source and
/// `source` its target. Optimizer state follows.
///
/// Every reason why it cannot be reversed is a finding: what is lost, which elements, and the
/// statement that loses them. So is, as a note, every copy of which another one is taken. A tensor
/// of which no statement has all is put together from pieces, of which there may be 1,024.
///
/// \pre        `expanded` is what `expand` gives
/// \post       without an error, first one and then the other is the identity on `source`
/// \par Source 4.9 of the description of AOA (PaddlePaddle flex_checkpoint); there an uneven concat
///             is split evenly, what is lost is not found, and fused macros count parts on the
///             wrong side
RESHARD_DECL reversal reverse_all(program const& expanded, catalog const& source,
                                  catalog const* target = nullptr,
                                  reverse_options const& options = {});

/// The same; the first error is thrown.
///
/// \throws error as `lower`, or with errc::not_invertible, with the place in the text, a caret and
///         the chain of macros
RESHARD_DECL program reverse(program const& expanded, catalog const& source,
                             catalog const* target = nullptr, reverse_options const& options = {});

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/reverse.ipp>
#endif

#endif
