// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_VECTOR_SET_HPP
#define RESHARD_COPY_VECTOR_SET_HPP

#include <cstdint>

/// \file
/// Which vector registers the processor has: kernels are compiled for each, and one is chosen as the program runs.

namespace reshard::detail {

/// What a kernel is written for; each has all of those before it.
enum class vector_set : std::uint8_t {
    none,  ///< what every processor of the kind has
    avx2,  ///< 32 bytes
    avx512 ///< 64 bytes, a line of the cache: F, BW, DQ and VL
};

/// The most that the processor which runs, and its system, have.
inline vector_set widest_vectors() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return vector_set::avx512;
    if (__builtin_cpu_supports("avx2"))
        return vector_set::avx2;
#endif
    return vector_set::none;
}

} // namespace reshard::detail

#endif
