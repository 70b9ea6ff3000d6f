// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_CONVERSIONS_HPP
#define RESHARD_COPY_CONVERSIONS_HPP

#include <reshard/copy/affine_copy.hpp>
#include <reshard/copy/choose.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/step_chain.hpp>

/// \file
/// The kernels for casts. A program without casts includes none of them.

namespace reshard::detail {

struct conversion_kernels;

/// The kernels for all casts.
RESHARD_DECL conversion_kernels const& all_conversions();

/// A conversion with these casts, and with the kernels for them.
inline element_conversion casting(data_type source, step_chain const& chain) {
    return {source, chain, &all_conversions()};
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/copy/impl/conversions.ipp>
#endif

#endif
