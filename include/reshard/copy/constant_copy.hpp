// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_CONSTANT_COPY_HPP
#define RESHARD_COPY_CONSTANT_COPY_HPP

#include <reshard/copy/choose.hpp>

/// \file
/// A copy that is known to the compiler.

namespace reshard::detail {

/// An affine copy and what happens to its elements: what `run_constant` takes.
struct constant_copy {
    affine_copy loop; ///< fused
    element_conversion conversion{};

    constexpr bool operator==(constant_copy const&) const = default;
};

} // namespace reshard::detail

#endif
