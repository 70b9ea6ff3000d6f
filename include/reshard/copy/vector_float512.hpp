// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_VECTOR_FLOAT512_HPP
#define RESHARD_COPY_VECTOR_FLOAT512_HPP

#include <reshard/copy/byte_float.hpp>
#include <reshard/copy/lanes512.hpp>

/// \file
/// Floats of every size as vectors of sixteen f32 patterns: vector_float.hpp for processors with
/// AVX-512.

namespace reshard::detail {

#if defined(__x86_64__)

/// The classes of `_mm512_fpclass_ps_mask`, which no mode of arithmetic changes and which records
/// nothing.
inline constexpr int quiet_nan = 0x01, signalling_nan = 0x80, any_nan = quiet_nan | signalling_nan;

/// Inverts f32's quiet bit in the lanes of `mask`.
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline __m512i
with_other_nans(__m512i values, __mmask16 mask) {
    return _mm512_mask_xor_epi32(values, mask, values, _mm512_set1_epi32(0x400000));
}

/// How sixteen elements of one type become f32 patterns and are made from them.
///
/// \par Shape `load` takes and `pack` gives what lanes512.hpp reads and writes; `Exact`: no element
///            needs rounding
template <data_type Type>
struct vector_float512;

/// What needs to know no more than its type.
struct type_alone512 {
    explicit type_alone512(byte_float const*) {}
};

template <>
struct vector_float512<data_type::f32> : type_alone512 {
    using type_alone512::type_alone512;

    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m512i
    load(__m512i elements) {
        return elements;
    }

    template <bool Exact>
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m512i
    pack(__m512i values) {
        return values;
    }
};

template <>
struct vector_float512<data_type::bf16> : type_alone512 {
    using type_alone512::type_alone512;

    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m512i
    load(__m256i elements) {
        return _mm512_maskz_slli_epi32(all_lanes, _mm512_maskz_cvtepu16_epi32(all_lanes, elements),
                                       16);
    }

    template <bool Exact>
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m256i
    pack(__m512i values) {
        if constexpr (!Exact)
            values = rounded(values);
        return _mm512_maskz_cvtepi32_epi16(all_lanes,
                                           _mm512_maskz_srli_epi32(all_lanes, values, 16));
    }

private:
    /// Adds half a unit of the upper half, less one if that half is even; to a NaN nothing, or the
    /// quiet bit if its payload is in the lower half alone.
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m512i
    rounded(__m512i values) {
        __mmask16 const nans = _mm512_fpclass_ps_mask(_mm512_castsi512_ps(values), any_nan);
        __mmask16 const lost =
            _mm512_mask_testn_epi32_mask(nans, values, _mm512_set1_epi32(0x7f0000));
        __m512i const odd =
            _mm512_and_si512(_mm512_maskz_srli_epi32(all_lanes, values, 16), _mm512_set1_epi32(1));
        __m512i const half = _mm512_add_epi32(_mm512_set1_epi32(0x7fff), odd);
        return with_other_nans(
            _mm512_mask_add_epi32(values, static_cast<__mmask16>(~nans), values, half), lost);
    }
};

template <>
struct vector_float512<data_type::f16> : type_alone512 {
    using type_alone512::type_alone512;

    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m512i
    load(__m256i elements) {
        __m512 const exact = _mm512_maskz_cvtph_ps(all_lanes, elements);
        __mmask16 const nans = _mm512_fpclass_ps_mask(exact, quiet_nan);
        __mmask16 const quieted =
            _mm256_mask_testn_epi16_mask(nans, elements, _mm256_set1_epi16(0x200));
        return with_other_nans(_mm512_castps_si512(exact), quieted);
    }

    template <bool Exact>
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m256i
    pack(__m512i values) {
        __m512 const floats = _mm512_castsi512_ps(values);
        __m256i const halves = _mm512_maskz_cvtps_ph(all_lanes, floats, _MM_FROUND_TO_NEAREST_INT);
        __mmask16 const quieted = _mm256_mask_test_epi16_mask(
            _mm512_fpclass_ps_mask(floats, signalling_nan), halves, _mm256_set1_epi16(0x1ff));
        return _mm256_mask_sub_epi16(halves, quieted, halves, _mm256_set1_epi16(0x200));
    }
};

template <>
struct vector_float512<data_type::f64> : type_alone512 {
    using type_alone512::type_alone512;

    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m512i
    load(two_lines elements) {
        __m512d const first = _mm512_castsi512_pd(elements.first);
        __m512d const second = _mm512_castsi512_pd(elements.second);
        __m512i const rounded =
            joined(_mm256_castps_si256(_mm512_maskz_cvtpd_ps(all_pairs, first)),
                   _mm256_castps_si256(_mm512_maskz_cvtpd_ps(all_pairs, second)));
        __mmask16 const signalling = _mm512_kunpackb(_mm512_fpclass_pd_mask(second, signalling_nan),
                                                     _mm512_fpclass_pd_mask(first, signalling_nan));
        return with_other_nans(
            rounded, _mm512_mask_test_epi32_mask(signalling, rounded, _mm512_set1_epi32(0x3fffff)));
    }

    template <bool Exact>
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static two_lines
    pack(__m512i values) {
        __mmask16 const mask = _mm512_fpclass_ps_mask(_mm512_castsi512_ps(values), signalling_nan);
        return {widened(_mm512_maskz_extracti64x4_epi64(all_pairs, values, 0),
                        static_cast<__mmask8>(mask)),
                widened(_mm512_maskz_extracti64x4_epi64(all_pairs, values, 1),
                        static_cast<__mmask8>(mask >> 8))};
    }

private:
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m512i
    widened(__m256i values, __mmask8 signalling) {
        __m512i const exact =
            _mm512_castpd_si512(_mm512_maskz_cvtps_pd(all_pairs, _mm256_castsi256_ps(values)));
        return _mm512_mask_xor_epi64(exact, signalling, exact, _mm512_set1_epi64(0x8000000000000));
    }
};

/// Floats of a byte whose format is known only as the program runs, looked up: the bf16 of each
/// magnitude lies in one of four registers.
template <bool HasOnlyNan>
struct vector_byte_float512 {
    [[gnu::target("avx512bw,avx512dq,avx512vl"),
      gnu::always_inline]] explicit vector_byte_float512(byte_float const* format)
        : quarters_{quarter(format, 0), quarter(format, 1), quarter(format, 2),
                    quarter(format, 3)} {}

    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] __m512i
    load(__m128i elements) const {
        return to_bf16(_mm512_maskz_slli_epi32(
            all_lanes, _mm512_maskz_cvtepu8_epi32(all_lanes, elements), 16));
    }

    /// The bf16 of 32 patterns in 16 bits each. That of zero is zero, so that patterns in the upper
    /// halves of 32 bits become f32.
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] __m512i
    to_bf16(__m512i patterns) const {
        __m512i const lower = _mm512_permutex2var_epi16(quarters_[0], patterns, quarters_[1]);
        __m512i const upper = _mm512_permutex2var_epi16(quarters_[2], patterns, quarters_[3]);
        __mmask32 const is_upper = _mm512_test_epi16_mask(patterns, _mm512_set1_epi16(0x40));
        __m512i const magnitudes = _mm512_mask_blend_epi16(is_upper, lower, upper);
        __m512i values = with_signs(magnitudes, patterns);
        if constexpr (HasOnlyNan) {
            __mmask32 const nans = _mm512_cmpeq_epi16_mask(patterns, _mm512_set1_epi16(0x80));
            values = _mm512_mask_blend_epi16(nans, values,
                                             _mm512_set1_epi16(static_cast<short>(0xffc0)));
        }
        return values;
    }

private:
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m512i
    quarter(byte_float const* format, std::size_t i) {
        return _mm512_load_si512(format->bf16.data() + 32 * i);
    }

    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static __m512i
    with_signs(__m512i magnitudes, __m512i patterns) {
        __m512i const signs = _mm512_and_si512(_mm512_maskz_slli_epi16(all_halves, patterns, 8),
                                               _mm512_set1_epi16(-0x8000));
        return _mm512_or_si512(magnitudes, signs);
    }

    __m512i quarters_[4];
};

template <>
struct vector_float512<data_type::f8_e4m3> : vector_byte_float512<false> {
    [[gnu::target("avx512bw,avx512dq,avx512vl"),
      gnu::always_inline]] explicit vector_float512(byte_float const* format)
        : vector_byte_float512(format) {}
};
template <>
struct vector_float512<data_type::f8_e4m3fnuz> : vector_byte_float512<true> {
    [[gnu::target("avx512bw,avx512dq,avx512vl"),
      gnu::always_inline]] explicit vector_float512(byte_float const* format)
        : vector_byte_float512(format) {}
};

#endif

} // namespace reshard::detail

#endif
