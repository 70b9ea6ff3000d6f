// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_STREAM_SQUARE_HPP
#define RESHARD_COPY_STREAM_SQUARE_HPP

#include <reshard/copy/streaming.hpp>
#include <reshard/core/index_vector.hpp>

#include <cstddef>

/// \file
/// Small matrices that are turned in registers and written past the caches.

namespace reshard::detail {

/// Lines of memory, some bytes apart.
template <class Byte>
struct memory_lines {
    Byte* first;
    index_t pitch;
};

/// A side of the squares of elements of `Size` bytes: a line of the cache.
template <std::size_t Size>
inline constexpr index_t square_side = static_cast<index_t>(line_bytes / Size);

/// True where squares of such elements can be turned so by the processor that runs.
template <std::size_t Size>
bool has_stream_square() {
#if defined(__x86_64__)
    return (Size == 4 || Size == 8) && __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

#if defined(__x86_64__)

/// Four lines of four 8-byte elements, turned.
struct turned_4x4 {
    __m256d lines[4];
};

[[gnu::target("avx2")]] inline turned_4x4 turn_4x4(unsigned char const* source, index_t pitch) {
    __m256d lines[4];
    for (index_t i = 0; i < 4; ++i)
        lines[i] = _mm256_loadu_pd(reinterpret_cast<double const*>(source + i * pitch));
    __m256d const low_ab = _mm256_unpacklo_pd(lines[0], lines[1]);
    __m256d const high_ab = _mm256_unpackhi_pd(lines[0], lines[1]);
    __m256d const low_cd = _mm256_unpacklo_pd(lines[2], lines[3]);
    __m256d const high_cd = _mm256_unpackhi_pd(lines[2], lines[3]);
    return {{_mm256_permute2f128_pd(low_ab, low_cd, 0x20),
             _mm256_permute2f128_pd(high_ab, high_cd, 0x20),
             _mm256_permute2f128_pd(low_ab, low_cd, 0x31),
             _mm256_permute2f128_pd(high_ab, high_cd, 0x31)}};
}

/// Eight lines of eight 4-byte elements, turned.
struct turned_8x8 {
    __m256 lines[8];
};

/// Turns eight vectors of eight 4-byte elements.
[[gnu::target("avx2"), gnu::always_inline]] inline turned_8x8 turn(turned_8x8 const& given) {
    __m256 pairs[8], quads[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(given.lines[i], given.lines[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(given.lines[i], given.lines[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; ++k) {
            quads[i + 2 * k] = _mm256_shuffle_ps(pairs[i + k], pairs[i + k + 2], 0x44);
            quads[i + 2 * k + 1] = _mm256_shuffle_ps(pairs[i + k], pairs[i + k + 2], 0xee);
        }
    turned_8x8 turned;
    for (int i = 0; i < 4; ++i) {
        turned.lines[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
        turned.lines[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
    }
    return turned;
}

[[gnu::target("avx2")]] inline turned_8x8 turn_8x8(unsigned char const* source, index_t pitch) {
    turned_8x8 given;
    for (index_t i = 0; i < 8; ++i)
        given.lines[i] = _mm256_loadu_ps(reinterpret_cast<float const*>(source + i * pitch));
    return turn(given);
}

/// Turns a square, and writes whole lines of the cache.
///
/// \par Units pitches in bytes
/// \pre       `has_stream_square<Size>()`; `target` and its pitch are aligned to a line
template <std::size_t Size>
[[gnu::target("avx2")]] void stream_square(unsigned char const* source, index_t pitch,
                                           unsigned char* target, index_t target_pitch) {
    constexpr index_t half = square_side<Size> / 2;
    for (index_t column = 0; column < 2; ++column) {
        unsigned char const* const from = source + column * 32;
        unsigned char* const to = target + column * half * target_pitch;
        if constexpr (Size == 8) {
            turned_4x4 const first = turn_4x4(from, pitch);
            turned_4x4 const second = turn_4x4(from + half * pitch, pitch);
            for (index_t i = 0; i < half; ++i) {
                auto* const line = reinterpret_cast<double*>(to + i * target_pitch);
                _mm256_stream_pd(line, first.lines[i]);
                _mm256_stream_pd(line + half, second.lines[i]);
            }
        } else if constexpr (Size == 4) {
            turned_8x8 const first = turn_8x8(from, pitch);
            turned_8x8 const second = turn_8x8(from + half * pitch, pitch);
            for (index_t i = 0; i < half; ++i) {
                auto* const line = reinterpret_cast<float*>(to + i * target_pitch);
                _mm256_stream_ps(line, first.lines[i]);
                _mm256_stream_ps(line + half, second.lines[i]);
            }
        }
    }
}

#else

template <std::size_t Size>
void stream_square(unsigned char const*, index_t, unsigned char*, index_t) {}

#endif

} // namespace reshard::detail

#endif
