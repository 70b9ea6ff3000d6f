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
/// Which vector registers the processor has, and its cache lines. Kernels are compiled for each set
/// of registers, and the program chooses one at run time.

namespace reshard::detail {

/// The instruction sets with kernels; each includes all sets before it.
enum class vector_set : std::uint8_t {
    none,  ///< the baseline of the architecture
    avx2,  ///< 32 bytes; with F16C
    avx512 ///< 64 bytes, a cache line; parts F, BW, DQ and VL
};

#if defined(__x86_64__)

/// For compilers whose `__builtin_cpu_supports` does not know F16C.
inline bool has_f16c() {
    static bool const is_match = [] {
        unsigned a = 0, b = 0, c = 0, d = 0;
        return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    }();
    return is_match;
}

/// The largest set that this processor and its system support.
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

/// Addresses with at least this distance lie in different pages.
inline constexpr std::size_t page_bytes = 4096;

/// The number of bytes from `address` to the next cache line.
inline std::size_t bytes_to_line(void const* address) {
    return (line_bytes - reinterpret_cast<std::uintptr_t>(address) % line_bytes) % line_bytes;
}

/// True if all rows with this pitch begin at cache lines.
inline bool begins_at_lines(void const* first, index_t pitch) {
    return bytes_to_line(first) == 0 && pitch % static_cast<index_t>(line_bytes) == 0;
}

/// Lines of memory that are `pitch` bytes apart.
template <class Byte>
struct memory_lines {
    Byte* first;
    index_t pitch;
};

/// Rows with the same number of bytes. Each side has one distance between rows.
struct row_block {
    unsigned char const* source;
    unsigned char* target;
    index_t source_pitch;
    index_t target_pitch;
    std::size_t bytes; ///< the bytes of a row
};

} // namespace reshard::detail

#endif
