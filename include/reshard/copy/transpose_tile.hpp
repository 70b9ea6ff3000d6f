// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_TRANSPOSE_TILE_HPP
#define RESHARD_COPY_TRANSPOSE_TILE_HPP

#include <reshard/copy/lanes512.hpp>
#include <reshard/copy/stream_lines.hpp>

#include <cstddef>

/// \file
/// Small matrices that are transposed in registers, and written with ordinary or non-temporal
/// stores.

namespace reshard::detail {

/// A side of the squares of elements of `size` bytes: a line of the cache.
constexpr index_t square_side(index_t size) { return static_cast<index_t>(line_bytes) / size; }

#if defined(__x86_64__)

/// Four lines of four 8-byte elements, transposed.
struct transposed_4x4 {
    __m256d lines[4];
};

[[gnu::target("avx2")]] inline transposed_4x4 transpose_4x4(unsigned char const* source,
                                                            index_t pitch) {
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

/// Eight lines of eight 4-byte elements, transposed.
struct transposed_8x8 {
    __m256 lines[8];
};

/// Transposes eight vectors of eight 4-byte elements.
[[gnu::target("avx2"), gnu::always_inline]] inline transposed_8x8
transpose_8x8(transposed_8x8 const& lines) {
    __m256 pairs[8], quads[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(lines.lines[i], lines.lines[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(lines.lines[i], lines.lines[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; ++k) {
            quads[i + 2 * k] = _mm256_shuffle_ps(pairs[i + k], pairs[i + k + 2], 0x44);
            quads[i + 2 * k + 1] = _mm256_shuffle_ps(pairs[i + k], pairs[i + k + 2], 0xee);
        }
    transposed_8x8 transposed;
    for (int i = 0; i < 4; ++i) {
        transposed.lines[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
        transposed.lines[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
    }
    return transposed;
}

[[gnu::target("avx2")]] inline transposed_8x8 transpose_8x8(unsigned char const* source,
                                                            index_t pitch) {
    transposed_8x8 lines;
    for (index_t i = 0; i < 8; ++i)
        lines.lines[i] = _mm256_loadu_ps(reinterpret_cast<float const*>(source + i * pitch));
    return transpose_8x8(lines);
}

/// Writes a line of the cache, the second half right after the first.
[[gnu::target("avx2"), gnu::always_inline]] inline void
put_line(unsigned char* target, __m256d first, __m256d second, bool streaming) {
    auto* const line = reinterpret_cast<double*>(target);
    if (streaming) {
        _mm256_stream_pd(line, first);
        _mm256_stream_pd(line + 4, second);
    } else {
        _mm256_storeu_pd(line, first);
        _mm256_storeu_pd(line + 4, second);
    }
}

/// Transposes a square of elements of 4 or 8 bytes, one half of its columns after the other.
template <std::size_t Size>
[[gnu::target("avx2")]] void transpose_avx2(memory_lines<unsigned char const> source,
                                            memory_lines<unsigned char> target, bool streaming) {
    constexpr index_t half = square_side(Size) / 2;
    for (index_t column = 0; column < 2; ++column) {
        unsigned char const* const from = source.first + column * 32;
        unsigned char* const to = target.first + column * half * target.pitch;
        if constexpr (Size == 8) {
            transposed_4x4 const first = transpose_4x4(from, source.pitch);
            transposed_4x4 const second = transpose_4x4(from + half * source.pitch, source.pitch);
            for (index_t i = 0; i < half; ++i)
                put_line(to + i * target.pitch, first.lines[i], second.lines[i], streaming);
        } else {
            transposed_8x8 const first = transpose_8x8(from, source.pitch);
            transposed_8x8 const second = transpose_8x8(from + half * source.pitch, source.pitch);
            for (index_t i = 0; i < half; ++i)
                put_line(to + i * target.pitch, _mm256_castps_pd(first.lines[i]),
                         _mm256_castps_pd(second.lines[i]), streaming);
        }
    }
}

/// The lower (`High` false) or higher halves of each 16 bytes of two vectors, interleaved by
/// elements.
template <std::size_t Size, bool High>
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline __m512i
interleave(__m512i a, __m512i b) {
    if constexpr (Size == 1)
        return High ? _mm512_unpackhi_epi8(a, b) : _mm512_unpacklo_epi8(a, b);
    else if constexpr (Size == 2)
        return High ? _mm512_unpackhi_epi16(a, b) : _mm512_unpacklo_epi16(a, b);
    else if constexpr (Size == 4)
        return High ? _mm512_maskz_unpackhi_epi32(all_lanes, a, b)
                    : _mm512_maskz_unpacklo_epi32(all_lanes, a, b);
    else
        return High ? _mm512_maskz_unpackhi_epi64(all_pairs, a, b)
                    : _mm512_maskz_unpacklo_epi64(all_pairs, a, b);
}

/// Transposes each of the four squares, 16 bytes wide, that lie side by side; by the rounds of
/// `transpose_square`.
template <std::size_t Size>
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline void
transpose_four(unsigned char const* source, index_t pitch, __m512i* transposed) {
    constexpr std::size_t lines = 16 / Size;
    __m512i given[lines];
    for (std::size_t i = 0; i < lines; ++i, source += pitch)
        transposed[i] = _mm512_loadu_si512(source);
    for (std::size_t round = 1; round < lines; round *= 2) {
        for (std::size_t i = 0; i < lines; ++i)
            given[i] = transposed[i];
        for (std::size_t i = 0; i < lines / 2; ++i) {
            transposed[2 * i] = interleave<Size, false>(given[i], given[i + lines / 2]);
            transposed[2 * i + 1] = interleave<Size, true>(given[i], given[i + lines / 2]);
        }
    }
}

/// Two of the four quarters of each vector.
template <int Quarters>
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline __m512i pick(__m512i a,
                                                                                      __m512i b) {
    return _mm512_maskz_shuffle_i64x2(all_pairs, a, b, Quarters);
}

/// Transposes a square of elements of any size: small squares first, which are then the elements of
/// a square of four by four.
template <std::size_t Size>
[[gnu::target("avx512bw,avx512dq,avx512vl")]] void
transpose_avx512(memory_lines<unsigned char const> source, memory_lines<unsigned char> target,
                 bool streaming) {
    constexpr std::size_t lines = 16 / Size;
    __m512i transposed[4][lines];
    for (std::size_t group = 0; group < 4; ++group)
        transpose_four<Size>(source.first + static_cast<index_t>(group * lines) * source.pitch,
                             source.pitch, transposed[group]);
    for (std::size_t i = 0; i < lines; ++i) {
        __m512i const low_ab = pick<0x44>(transposed[0][i], transposed[1][i]);
        __m512i const high_ab = pick<0xee>(transposed[0][i], transposed[1][i]);
        __m512i const low_cd = pick<0x44>(transposed[2][i], transposed[3][i]);
        __m512i const high_cd = pick<0xee>(transposed[2][i], transposed[3][i]);
        __m512i const whole[4] = {pick<0x88>(low_ab, low_cd), pick<0xdd>(low_ab, low_cd),
                                  pick<0x88>(high_ab, high_cd), pick<0xdd>(high_ab, high_cd)};
        for (std::size_t k = 0; k < 4; ++k)
            write_lines(whole[k], target.first + static_cast<index_t>(k * lines + i) * target.pitch,
                        streaming);
    }
}

#endif

/// Transposes a square; if it streams, `streaming_fence` must follow.
///
/// \par Units pitches in bytes
/// \pre       the processor has the registers; if it streams, the target and its pitch are
///            aligned to a line
using square_function = void (*)(memory_lines<unsigned char const> source,
                                 memory_lines<unsigned char> target, bool streaming);

/// The function that transposes squares of elements of `size` bytes with the given registers, or
/// null.
inline square_function square_transpose(index_t size, vector_set vectors) {
#if defined(__x86_64__)
    bool const is_wide = vectors == vector_set::avx512;
    switch (vectors == vector_set::none ? 0 : size) {
    case 1: return is_wide ? transpose_avx512<1> : nullptr;
    case 2: return is_wide ? transpose_avx512<2> : nullptr;
    case 4: return is_wide ? transpose_avx512<4> : transpose_avx2<4>;
    case 8: return is_wide ? transpose_avx512<8> : transpose_avx2<8>;
    default: return nullptr;
    }
#else
    (void)size, (void)vectors;
    return nullptr;
#endif
}

} // namespace reshard::detail

#endif
