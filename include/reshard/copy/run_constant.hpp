// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_RUN_CONSTANT_HPP
#define RESHARD_COPY_RUN_CONSTANT_HPP

#include <reshard/copy/choose.hpp>
#include <reshard/copy/copy_elements.hpp>

#include <cstddef>
#include <cstring>

/// \file
/// Runs a copy that is known to the compiler: loops of constant extents.

namespace reshard::detail {

/// True where a copy is runs of bytes that are found in a cache later.
constexpr bool is_runs(constant_copy const& copy) {
    copy_kernel const kernel = choose(copy.loop, copy.conversion);
    return (kernel == copy_kernel::contiguous || kernel == copy_kernel::rows) &&
           byte_count(element_count(copy.loop), copy.conversion.source) < streaming_threshold;
}

/// Copies the runs behind axis `Axis`, whose extents and strides are constants.
///
/// \par Units elements of `Size` bytes
template <class Copy, std::size_t Size, std::size_t Axis = 0>
void copy_runs(unsigned char const* source, unsigned char* target) {
    constexpr affine_copy const& loop = Copy::value.loop;
    if constexpr (loop.ndim() == 0) {
        std::memcpy(target, source, Size);
    } else if constexpr (Axis + 1 == loop.ndim()) {
        std::memcpy(target, source, Size * static_cast<std::size_t>(loop.extent.values[Axis]));
    } else {
        constexpr auto bytes = static_cast<index_t>(Size);
        for (index_t i = 0; i < loop.extent.values[Axis]; ++i)
            copy_runs<Copy, Size, Axis + 1>(source + i * loop.source_strides.values[Axis] * bytes,
                                            target + i * loop.target_strides.values[Axis] * bytes);
    }
}

/// Runs the `constant_copy` `Copy::value`.
///
/// Runs of bytes are loops of constant extents; other kernels are chosen and prepared once, at the
/// first call.
///
/// \pre the places of the source and those of the target are disjoint
template <class Copy>
void run_constant(unsigned char const* source, unsigned char* target) {
    constexpr copy_kernel kernel = choose(Copy::value.loop, Copy::value.conversion);
    if constexpr (kernel == copy_kernel::nothing) {
        return;
    } else if constexpr (is_runs(Copy::value)) {
        constexpr auto size = static_cast<std::size_t>(bits(Copy::value.conversion.source) / 8);
        constexpr auto unit = static_cast<index_t>(size);
        copy_runs<Copy, size>(source + Copy::value.loop.source_offset * unit,
                              target + Copy::value.loop.target_offset * unit);
    } else {
        static prepared_copy const ready = prepare(Copy::value.loop, Copy::value.conversion);
        run(ready, source, target);
    }
}

} // namespace reshard::detail

#endif
