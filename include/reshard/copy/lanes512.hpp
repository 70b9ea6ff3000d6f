// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_LANES512_HPP
#define RESHARD_COPY_LANES512_HPP

#include <reshard/core/index_vector.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/// \file
/// Sixteen elements of any size between memory and the registers of AVX-512: all of them, the first
/// few, or four of each of four lines.

namespace reshard::detail {

#if defined(__x86_64__)

/// Sixteen elements of 8 bytes; of 1, 2 and 4 bytes they fill a `__m128i`, `__m256i` and `__m512i`.
struct two_lines {
    __m512i first;
    __m512i second;
};

/// The whole of a vector of 32, 64 and 16 bits each: g++ 12 takes the forms without a mask for uses
/// of variables that were never set, and makes the same of both.
inline constexpr __mmask16 all_lanes = 0xffff;
inline constexpr __mmask8 all_pairs = 0xff;
inline constexpr __mmask32 all_halves = 0xffffffff;

/// The first `count` of sixteen.
///
/// \pre `count <= 16`
constexpr __mmask16 first_lanes(index_t count) { return static_cast<__mmask16>((1u << count) - 1); }

/// Both halves of a vector.
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline __m512i
joined(__m256i lower, __m256i upper) {
    return _mm512_maskz_inserti64x4(all_pairs, _mm512_castsi256_si512(lower), upper, 1);
}

/// Those of sixteen elements in a row that `lanes` names; the others are not touched, and zero.
template <index_t Size>
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline auto
read_lanes(unsigned char const* address, __mmask16 lanes = all_lanes) {
    if constexpr (Size == 1)
        return _mm_maskz_loadu_epi8(lanes, address);
    else if constexpr (Size == 2)
        return _mm256_maskz_loadu_epi16(lanes, address);
    else if constexpr (Size == 4)
        return _mm512_maskz_loadu_epi32(lanes, address);
    else
        return two_lines{_mm512_maskz_loadu_epi64(static_cast<__mmask8>(lanes), address),
                         _mm512_maskz_loadu_epi64(static_cast<__mmask8>(lanes >> 8), address + 64)};
}

/// Writes the ones of sixteen elements that `lanes` selects.
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline void
write_lanes(__m256i elements, unsigned char* address, __mmask16 lanes) {
    _mm256_mask_storeu_epi16(address, lanes, elements);
}

[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline void
write_lanes(__m512i elements, unsigned char* address, __mmask16 lanes) {
    _mm512_mask_storeu_epi32(address, lanes, elements);
}

[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline void
write_lanes(two_lines elements, unsigned char* address, __mmask16 lanes) {
    _mm512_mask_storeu_epi64(address, static_cast<__mmask8>(lanes), elements.first);
    _mm512_mask_storeu_epi64(address + 64, static_cast<__mmask8>(lanes >> 8), elements.second);
}

/// Writes a line of the cache at once.
///
/// \pre if it streams, the address is aligned to a line
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline void
write_lines(__m512i line, unsigned char* address, bool streaming) {
    if (streaming)
        _mm512_stream_si512(reinterpret_cast<__m512i*>(address), line);
    else
        _mm512_storeu_si512(address, line);
}

[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline void
write_lines(two_lines lines, unsigned char* address, bool streaming) {
    write_lines(lines.first, address, streaming);
    write_lines(lines.second, address + 64, streaming);
}

/// The first `Size` bytes of a vector; the others are zero.
template <index_t Size>
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline __m128i
read_start(unsigned char const* address) {
    if constexpr (Size == 4)
        return _mm_loadu_si32(address);
    else if constexpr (Size == 8)
        return _mm_loadu_si64(address);
    else
        return _mm_loadu_si128(reinterpret_cast<__m128i const*>(address));
}

[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline __m256i
read_half(unsigned char const* address) {
    return _mm256_loadu_si256(reinterpret_cast<__m256i const*>(address));
}

/// The first four elements of each of four lines, `pitch` bytes apart.
template <index_t Size>
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline auto
read_fours(unsigned char const* address, index_t pitch) {
    unsigned char const* const third = address + 2 * pitch;
    if constexpr (Size == 8) {
        return two_lines{joined(read_half(address), read_half(address + pitch)),
                         joined(read_half(third), read_half(third + pitch))};
    } else {
        __m128i const fours[] = {read_start<4 * Size>(address),
                                 read_start<4 * Size>(address + pitch), read_start<4 * Size>(third),
                                 read_start<4 * Size>(third + pitch)};
        if constexpr (Size == 1)
            return _mm_unpacklo_epi64(_mm_unpacklo_epi32(fours[0], fours[1]),
                                      _mm_unpacklo_epi32(fours[2], fours[3]));
        else if constexpr (Size == 2)
            return _mm256_set_m128i(_mm_unpacklo_epi64(fours[2], fours[3]),
                                    _mm_unpacklo_epi64(fours[0], fours[1]));
        else
            return joined(_mm256_set_m128i(fours[1], fours[0]),
                          _mm256_set_m128i(fours[3], fours[2]));
    }
}

#endif

} // namespace reshard::detail

#endif
