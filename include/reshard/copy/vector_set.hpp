// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_VECTOR_SET_HPP
#define RESHARD_COPY_VECTOR_SET_HPP

#include <reshard/core/index_vector.hpp>

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/// \file
/// Which vector registers the processor has, and the lines of its cache. Kernels are compiled for
/// each set of registers, and one is chosen as the program runs.

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

/// The most that the processor which runs, and its system, have.
inline vector_set widest_vectors() {
    if (!__builtin_cpu_supports("avx2") || !has_f16c())
        return vector_set::none;
    bool const has_lines = __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return has_lines ? vector_set::avx512 : vector_set::avx2;
}

#else

inline vector_set widest_vectors() { return vector_set::none; }

#endif

/// True if kernels for `vectors` can run.
inline bool has(vector_set vectors) { return vectors <= widest_vectors(); }

inline constexpr std::size_t line_bytes = 64;

/// The distance from which on two places are not in one page.
inline constexpr std::size_t page_bytes = 4096;

/// The bytes from `address` to the next line of the cache.
inline std::size_t bytes_to_line(void const* address) {
    return (line_bytes - reinterpret_cast<std::uintptr_t>(address) % line_bytes) % line_bytes;
}

/// True if rows so far apart all begin at lines of the cache.
inline bool begins_at_lines(void const* first, index_t pitch) {
    return bytes_to_line(first) == 0 && pitch % static_cast<index_t>(line_bytes) == 0;
}

/// Lines of memory, some bytes apart.
template <class Byte>
struct memory_lines {
    Byte* first;
    index_t pitch;
};

/// Rows of equally many bytes, equally far apart on each side.
struct row_block {
    unsigned char const* source;
    unsigned char* target;
    index_t source_pitch;
    index_t target_pitch;
    std::size_t bytes; ///< of a row
};

} // namespace reshard::detail

#endif
