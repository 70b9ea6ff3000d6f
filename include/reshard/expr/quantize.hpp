// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_QUANTIZE_HPP
#define RESHARD_EXPR_QUANTIZE_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>

/// \file
/// Tensors that a program quantizes: the definition of `mapping::quantized`.

namespace reshard::detail {

/// Adds the value from which tensors are quantised to `values`, in f32, as the target tensor
/// `quantised.name`, and the scales to keep under the keys of the tensors that they become, with
/// the sources that all need.
RESHARD_DECL void add_value(mapping& values, mapping const& program,
                            quantised_value const& quantised);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/quantize.ipp>
#endif

#endif
