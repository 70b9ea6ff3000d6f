// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_CHECK_REVERSED_HPP
#define RESHARD_AOA_CHECK_REVERSED_HPP

#include <reshard/aoa/reverse_options.hpp>
#include <reshard/core/config.hpp>

#include <vector>

/// \file
/// What is still wrong with a program that has been reversed.

namespace reshard::aoa::detail {

/// The tensors of a mapping's target, each in one part.
RESHARD_DECL catalog outputs_of(mapping const& map);

/// What lowering the reversed program has found: what is still wrong with it, states above all, is
/// an error.
RESHARD_DECL void add_errors(reversal& result, std::vector<finding> findings);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/check_reversed.ipp>
#endif

#endif
