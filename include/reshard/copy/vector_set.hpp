// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_VECTOR_SET_HPP
#define RESHARD_COPY_VECTOR_SET_HPP

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/// \file
/// Which vector registers the processor has: kernels are compiled for each, and one is chosen as
/// the program runs.

namespace reshard::detail {

/// The instruction sets with kernels; each includes all sets before it.
enum class vector_set : std::uint8_t {
    none,  ///< what every processor of the kind has
    avx2,  ///< 32 bytes; with F16C
    avx512 ///< 64 bytes, a line of the cache: the parts F, BW, DQ and VL
};

#if defined(__x86_64__)

/// Not every compiler's `__builtin_cpu_supports` knows F16C.
inline bool has_f16c() {
    static bool const is_match = [] {
        unsigned a = 0, b = 0, c = 0, d = 0;
        return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    }();
    return is_match;
}

#endif

/// The most that the processor which runs, and its system, have.
inline vector_set widest_vectors() {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !has_f16c())
        return vector_set::none;
    bool const has_lines = __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return has_lines ? vector_set::avx512 : vector_set::avx2;
#else
    return vector_set::none;
#endif
}

/// True if kernels for `vectors` can run.
inline bool has(vector_set vectors) { return vectors <= widest_vectors(); }

} // namespace reshard::detail

#endif
