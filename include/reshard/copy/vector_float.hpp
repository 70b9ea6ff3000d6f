// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_VECTOR_FLOAT_HPP
#define RESHARD_COPY_VECTOR_FLOAT_HPP

#include <reshard/copy/byte_float.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/// \file
/// Floats of every size as vectors of f32 patterns: how each is read into registers and written
/// from them.
///
/// A conversion is one type's `load` and another's `pack`, so that a type is written once and not a
/// pair of types. All results equal those of convert.hpp bit for bit, in the default floating-point
/// environment, and none has a branch. Hardware quiets signalling NaNs, which is undone.

namespace reshard::detail {

#if defined(__x86_64__)

/// Eight f32 patterns.
using eight = __m256i;

template <class Vector>
Vector* vector_at(unsigned char* address) {
    return reinterpret_cast<Vector*>(address);
}

template <class Vector>
Vector const* vector_at(unsigned char const* address) {
    return reinterpret_cast<Vector const*>(address);
}

/// All bits in the lanes with a NaN.
[[gnu::target("avx2,f16c"), gnu::always_inline]] inline eight nans(eight values) {
    eight const magnitudes = _mm256_and_si256(values, _mm256_set1_epi32(0x7fffffff));
    return _mm256_cmpgt_epi32(magnitudes, _mm256_set1_epi32(0x7f800000));
}

/// All bits in the lanes with a NaN whose quiet bit, moved to f32's, is not set.
[[gnu::target("avx2,f16c"), gnu::always_inline]] inline eight signalling(eight values,
                                                                         eight quiet) {
    eight const bit = _mm256_and_si256(quiet, _mm256_set1_epi32(0x400000));
    return _mm256_and_si256(nans(values), _mm256_cmpeq_epi32(bit, _mm256_setzero_si256()));
}

/// Clears the `quiet` bit in the lanes of `mask`.
[[gnu::target("avx2,f16c"), gnu::always_inline]] inline __m256i
unquieted(__m256i values, __m256i mask, __m256i quiet) {
    return _mm256_andnot_si256(_mm256_and_si256(mask, quiet), values);
}

/// How one type is read into registers and written from them.
///
/// \par Shape `load` reads 8 elements, `pack` makes vectors of 16; `Exact`: no element needs
///            rounding
template <data_type Type>
struct vector_float;

/// What needs to know no more than its type.
struct type_alone {
    explicit type_alone(byte_float const*) {}
};

template <>
struct vector_float<data_type::f32> : type_alone {
    using type_alone::type_alone;

    [[gnu::target("avx2,f16c"), gnu::always_inline]] static eight
    load(unsigned char const* source) {
        return _mm256_loadu_si256(vector_at<__m256i>(source));
    }

    template <bool Exact>
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static void pack(eight first, eight second,
                                                                      __m256i* packed) {
        packed[0] = first;
        packed[1] = second;
    }
};

template <>
struct vector_float<data_type::bf16> : type_alone {
    using type_alone::type_alone;

    [[gnu::target("avx2,f16c"), gnu::always_inline]] static eight
    load(unsigned char const* source) {
        __m128i const halves = _mm_loadu_si128(vector_at<__m128i>(source));
        return _mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16);
    }

    template <bool Exact>
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static void pack(eight first, eight second,
                                                                      __m256i* packed) {
        if constexpr (!Exact) {
            first = rounded(first);
            second = rounded(second);
        }
        __m256i const halves =
            _mm256_packus_epi32(_mm256_srli_epi32(first, 16), _mm256_srli_epi32(second, 16));
        packed[0] = _mm256_permute4x64_epi64(halves, 0xd8);
    }

private:
    /// Adds half a unit of the upper half, less one if that half is even; to a NaN nothing, or the
    /// quiet bit if its payload is in the lower half alone.
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static eight rounded(eight values) {
        eight const odd = _mm256_and_si256(_mm256_srli_epi32(values, 16), _mm256_set1_epi32(1));
        eight const half = _mm256_add_epi32(_mm256_set1_epi32(0x7fff), odd);
        eight const payload = _mm256_and_si256(values, _mm256_set1_epi32(0x7f0000));
        eight const quiet = _mm256_and_si256(_mm256_cmpeq_epi32(payload, _mm256_setzero_si256()),
                                             _mm256_set1_epi32(0x400000));
        return _mm256_add_epi32(values, _mm256_blendv_epi8(half, quiet, nans(values)));
    }
};

template <>
struct vector_float<data_type::f16> : type_alone {
    using type_alone::type_alone;

    [[gnu::target("avx2,f16c"), gnu::always_inline]] static eight
    load(unsigned char const* source) {
        __m128i const halves = _mm_loadu_si128(vector_at<__m128i>(source));
        eight const exact = _mm256_castps_si256(_mm256_cvtph_ps(halves));
        eight const quiet = _mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 13);
        return unquieted(exact, signalling(exact, quiet), _mm256_set1_epi32(0x400000));
    }

    template <bool Exact>
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static void pack(eight first, eight second,
                                                                      __m256i* packed) {
        constexpr int to_nearest = _MM_FROUND_TO_NEAREST_INT;
        __m256i const halves =
            _mm256_set_m128i(_mm256_cvtps_ph(_mm256_castsi256_ps(second), to_nearest),
                             _mm256_cvtps_ph(_mm256_castsi256_ps(first), to_nearest));
        __m256i const payload = _mm256_and_si256(halves, _mm256_set1_epi16(0x1ff));
        __m256i const is_quiet_only = _mm256_cmpeq_epi16(payload, _mm256_setzero_si256());
        __m256i const mask =
            _mm256_packs_epi32(signalling(first, first), signalling(second, second));
        packed[0] = unquieted(halves, _mm256_permute4x64_epi64(mask, 0xd8),
                              _mm256_andnot_si256(is_quiet_only, _mm256_set1_epi16(0x200)));
    }
};

template <>
struct vector_float<data_type::f64> : type_alone {
    using type_alone::type_alone;

    [[gnu::target("avx2,f16c"), gnu::always_inline]] static eight
    load(unsigned char const* source) {
        __m256d const first = _mm256_loadu_pd(vector_at<double>(source));
        __m256d const second = _mm256_loadu_pd(vector_at<double>(source + 32));
        eight const rounded =
            _mm256_castps_si256(_mm256_set_m128(_mm256_cvtpd_ps(second), _mm256_cvtpd_ps(first)));
        __m256 const upper =
            _mm256_shuffle_ps(_mm256_castpd_ps(first), _mm256_castpd_ps(second), 0xdd);
        eight const quiet =
            _mm256_slli_epi32(_mm256_permute4x64_epi64(_mm256_castps_si256(upper), 0xd8), 3);
        eight const payload = _mm256_and_si256(rounded, _mm256_set1_epi32(0x3fffff));
        eight const is_quiet_only = _mm256_cmpeq_epi32(payload, _mm256_setzero_si256());
        return unquieted(rounded, signalling(rounded, quiet),
                         _mm256_andnot_si256(is_quiet_only, _mm256_set1_epi32(0x400000)));
    }

    template <bool Exact>
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static void pack(eight first, eight second,
                                                                      __m256i* packed) {
        for (eight const values : {first, second}) {
            eight const mask = signalling(values, values);
            *packed++ = widened(_mm256_castsi256_si128(values), _mm256_castsi256_si128(mask));
            *packed++ =
                widened(_mm256_extracti128_si256(values, 1), _mm256_extracti128_si256(mask, 1));
        }
    }

private:
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static __m256i widened(__m128i values,
                                                                            __m128i mask) {
        return unquieted(_mm256_castpd_si256(_mm256_cvtps_pd(_mm_castsi128_ps(values))),
                         _mm256_cvtepi32_epi64(mask), _mm256_set1_epi64x(0x8000000000000));
    }
};

/// Floats of a byte, whose format is known only at run time. Their bf16 is made first: of each
/// magnitude with an exponent by a multiplication, of the few without one by a look into a
/// register.
template <>
struct vector_float<data_type::f8_e4m3> {
    [[gnu::target("avx2,f16c"), gnu::always_inline]] explicit vector_float(byte_float const* format)
        : small_(_mm_loadu_si128(vector_at<__m128i>(format->small.data()))),
          factor_(all(format->factor)),
          rebias_(all(format->rebias)),
          first_normal_(all(format->first_normal)),
          largest_(all(format->largest)),
          only_nan_(all(format->only_nan)),
          special_rebias_(all(format->special_rebias)) {}

    [[gnu::target("avx2,f16c"), gnu::always_inline]] eight load(unsigned char const* source) const {
        __m128i const bytes = _mm_loadl_epi64(vector_at<__m128i>(source));
        return _mm256_slli_epi32(_mm256_cvtepu16_epi32(to_bf16(_mm_unpacklo_epi8(bytes, bytes))),
                                 16);
    }

private:
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static __m128i all(std::uint16_t value) {
        return _mm_set1_epi16(static_cast<short>(value));
    }

    /// \param twice each byte in both halves of 16 bits
    [[gnu::target("avx2,f16c"), gnu::always_inline]] __m128i to_bf16(__m128i twice) const {
        __m128i const both = _mm_and_si128(twice, all(0x7f7f));
        __m128i const magnitude = _mm_and_si128(twice, all(0x007f));
        __m128i const sign = _mm_and_si128(twice, all(0x8000));
        __m128i const from_table = _mm_shuffle_epi8(small_, _mm_add_epi16(both, all(0x0800)));
        __m128i const scaled = _mm_add_epi16(_mm_mullo_epi16(magnitude, factor_), rebias_);
        __m128i const is_special =
            _mm_or_si128(_mm_cmpgt_epi16(magnitude, largest_), _mm_cmpeq_epi16(twice, only_nan_));
        __m128i const result =
            _mm_blendv_epi8(scaled, from_table, _mm_cmpgt_epi16(first_normal_, magnitude));
        return _mm_or_si128(_mm_add_epi16(result, _mm_and_si128(is_special, special_rebias_)),
                            sign);
    }

    __m128i small_, factor_, rebias_, first_normal_, largest_, only_nan_, special_rebias_;
};

#endif

} // namespace reshard::detail

#endif
