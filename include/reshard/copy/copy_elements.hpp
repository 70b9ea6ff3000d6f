// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_COPY_ELEMENTS_HPP
#define RESHARD_COPY_COPY_ELEMENTS_HPP

#include <reshard/copy/choose.hpp>
#include <reshard/copy/conversion.hpp>
#include <reshard/copy/kernel_transpose.hpp>
#include <reshard/core/config.hpp>

#include <cstdint>

/// \file
/// Moves elements: every plan ends here.

namespace reshard::detail {

/// How results reach the memory.
enum class stores : std::uint8_t {
    by_size,   ///< non-temporal from `streaming_threshold` bytes on
    cached,    ///< through the caches: the result is read again soon
    streaming, ///< non-temporal: this copy is part of a larger one
};

/// The bytes from which on a result is unlikely to be found in a cache later.
inline constexpr index_t streaming_threshold = index_t{4} << 20;

/// A prepared copy, to be run any number of times: fused, with its kernel chosen.
struct prepared_copy {
    copy_kernel kernel = copy_kernel::nothing;
    affine_copy loop;         ///< offsets and strides in `unit_bits`
    element_sizes sizes = {}; ///< of what the kernel takes for an element, in `unit_bits`
    detail::conversion conversion;
    bool streaming = false;
};

/// Prepares a copy.
///
/// \throws error with errc::dtype_mismatch when complex numbers are to become real ones
RESHARD_DECL prepared_copy prepare(affine_copy const& copy, element_conversion const& conversion,
                                   stores how = stores::by_size);

/// Copies, from and to base pointers that need no alignment.
///
/// \pre the places of the source and those of the target are disjoint
RESHARD_DECL void run(prepared_copy const& ready, void const* source, void* target);

/// Copies elements from `source` to `target`, rounding as the casts say.
///
/// Neither pointer needs alignment; elements below 8 bits may begin at any bit, and the other bits
/// of their bytes stay as they are. Works in one thread.
///
/// \par Units offsets and strides in elements of the stored types, from the base pointers
/// \pre       the places of the source and those of the target are disjoint
/// \throws    error with errc::dtype_mismatch when complex numbers are to become real ones
inline void copy_elements(affine_copy const& copy, element_conversion const& conversion,
                          void const* source, void* target) {
    run(prepare(copy, conversion), source, target);
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/copy/impl/copy_elements.ipp>
#endif

#endif
