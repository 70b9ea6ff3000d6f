// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_QUANTIZE_HPP
#define RESHARD_EXPR_QUANTIZE_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>

/// \file
/// Tensors that a program quantizes: the definition of `mapping::quantized`.

namespace reshard::detail {

/// Adds the value from which tensors are quantised to `values`, in f32, and the scales to keep,
/// with their sources. They are target tensors under the keys of the quantised tensors.
///
/// \throws error if the value and the tensors do not fit the scheme
RESHARD_DECL void add_value(mapping& values, mapping const& program,
                            quantised_value const& quantised);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/quantize.ipp>
#endif

#endif
