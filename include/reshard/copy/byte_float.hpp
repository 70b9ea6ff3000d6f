// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_BYTE_FLOAT_HPP
#define RESHARD_COPY_BYTE_FLOAT_HPP

#include <reshard/copy/float_format.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/index_vector.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

/// \file
/// Floats of at most a byte, as tables, so that one kernel reads all of these formats.

namespace reshard::detail {

/// `value` if `condition` holds, otherwise `other`. Computes both, to keep branches out of vector
/// loops.
constexpr std::uint32_t select(bool condition, std::uint32_t value, std::uint32_t other) {
    std::uint32_t const mask = 0u - std::uint32_t{condition};
    return (value & mask) | (other & ~mask);
}

/// The smallest magnitude of an f32, other than a NaN, that does not round to a finite number of
/// `format`.
constexpr std::uint32_t overflow_threshold(float_format format) {
    int const cut = format_f32.fraction_bits - format.fraction_bits;
    auto const largest = static_cast<std::uint32_t>(largest_finite(format));
    std::uint32_t const largest_as_f32 =
        (largest << cut) +
        (static_cast<std::uint32_t>(format_f32.bias - format.bias) << format_f32.fraction_bits);
    // Half a unit above the largest number. A tie rounds up if the fraction is odd.
    return largest_as_f32 + (std::uint32_t{1} << (cut - 1)) + (largest % 2 == 0);
}

/// Converts a pattern of a narrower format to f32, exactly.
template <float_format Format>
constexpr std::uint32_t widen(std::uint32_t bits) {
    constexpr int shift = format_f32.fraction_bits - Format.fraction_bits;
    constexpr auto mask = static_cast<std::uint32_t>(magnitude_mask(Format));
    constexpr auto infinity = static_cast<std::uint32_t>(largest_finite(Format)) + 1;
    constexpr auto rebias = static_cast<std::uint32_t>(format_f32.bias - Format.bias)
                            << format_f32.fraction_bits;
    std::uint32_t const magnitude = bits & mask;
    std::uint32_t const sign = (bits & static_cast<std::uint32_t>(sign_mask(Format)))
                               << (31 - magnitude_bits(Format));
    std::uint32_t result = (magnitude << shift) + rebias;
    if constexpr (rebias != 0) {
        // A subnormal equals the smallest normal number with the subnormal's fraction, minus the
        // smallest normal number.
        constexpr std::uint32_t smallest = rebias + (std::uint32_t{1} << format_f32.fraction_bits);
        float const above =
            std::bit_cast<float>((magnitude << shift) + smallest) - std::bit_cast<float>(smallest);
        result = select((magnitude >> Format.fraction_bits) == 0,
                        std::bit_cast<std::uint32_t>(above), result);
    }
    if constexpr (Format.specials == special_values::ieee)
        result = select(magnitude >= infinity, 0x7f800000u | (magnitude << shift), result);
    else if constexpr (Format.specials == special_values::last_nan)
        result = select(magnitude == mask, 0x7fc00000u, result);
    else if constexpr (Format.specials == special_values::zero_nan)
        result = select(bits == sign_mask(Format), 0x7fc00000u, result);
    return result | sign;
}

/// The pattern for an f32 NaN of that magnitude, without its sign.
template <float_format Format>
constexpr std::uint32_t narrow_nan(std::uint32_t magnitude) {
    constexpr auto special = static_cast<std::uint32_t>(overflow_bits(Format));
    if constexpr (Format.specials != special_values::ieee)
        return special;
    constexpr auto fraction = static_cast<std::uint32_t>(fraction_mask(Format));
    std::uint32_t const kept =
        (magnitude >> (format_f32.fraction_bits - Format.fraction_bits)) & fraction;
    return special | select(kept == 0, (fraction + 1) >> 1, kept);
}

/// Converts an f32 to a pattern of a narrower format: rounds once, to nearest, ties to even.
template <float_format Format>
constexpr std::uint32_t narrow(std::uint32_t bits) {
    constexpr int cut = format_f32.fraction_bits - Format.fraction_bits;
    constexpr auto rebias = static_cast<std::uint32_t>(format_f32.bias - Format.bias)
                            << Format.fraction_bits;
    std::uint32_t const magnitude = bits & 0x7fffffffu;
    std::uint32_t const odd = (magnitude >> cut) & 1;
    std::uint32_t result =
        ((magnitude + odd + (std::uint32_t{1} << (cut - 1)) - 1) >> cut) - rebias;
    if constexpr (rebias != 0) {
        // The last bit of the added number has the value of the smallest subnormal, so the hardware
        // rounds at that bit.
        constexpr std::uint32_t unit =
            static_cast<std::uint32_t>(format_f32.bias + 1 - Format.bias + cut)
            << format_f32.fraction_bits;
        constexpr std::uint32_t smallest_normal =
            static_cast<std::uint32_t>(format_f32.bias + 1 - Format.bias)
            << format_f32.fraction_bits;
        float const rounded = std::bit_cast<float>(magnitude) + std::bit_cast<float>(unit);
        result = select(magnitude < smallest_normal, std::bit_cast<std::uint32_t>(rounded) - unit,
                        result);
    }
    result = select(magnitude >= overflow_threshold(Format),
                    static_cast<std::uint32_t>(overflow_bits(Format)), result);
    bool const is_nan = magnitude > 0x7f800000u;
    result = select(is_nan, narrow_nan<Format>(magnitude), result);
    std::uint32_t const sign = (bits >> 31) << magnitude_bits(Format);
    if constexpr (Format.specials == special_values::zero_nan)
        return result | select(result == 0, 0, sign);
    if constexpr (Format.specials == special_values::none)
        return result | select(is_nan, 0, sign);
    return result | sign;
}

/// Converts an f32 to f64. Shifts the payload of a NaN, so that a signalling NaN stays signalling.
constexpr std::uint64_t f64_of_f32(std::uint32_t value) {
    double const exact = std::bit_cast<float>(value);
    std::uint64_t const sign = std::uint64_t{value >> 31} << 63;
    std::uint64_t const nan = sign | 0x7ff0000000000000u | std::uint64_t{value & 0x7fffffu} << 29;
    return (value & 0x7fffffffu) > 0x7f800000u ? nan : std::bit_cast<std::uint64_t>(exact);
}

/// Converts an f64 to f32, rounded once.
constexpr std::uint32_t f32_of_f64(std::uint64_t value) {
    static_assert(std::numeric_limits<float>::is_iec559);
    auto const rounded = static_cast<float>(std::bit_cast<double>(value));
    auto const payload = static_cast<std::uint32_t>(value >> 29) & 0x7fffffu;
    std::uint32_t const nan = static_cast<std::uint32_t>(value >> 63) << 31 | 0x7f800000u |
                              (payload == 0 ? 0x400000u : payload);
    return (value & 0x7fffffffffffffffu) > 0x7ff0000000000000u
               ? nan
               : std::bit_cast<std::uint32_t>(rounded);
}

/// Converts a pattern of a format whose exponent and fraction fit bf16. The result is the upper
/// half of the f32; the lower half is zero.
template <float_format Format>
constexpr std::uint32_t widen_to_bf16(std::uint32_t bits) {
    static_assert(Format.fraction_bits <= format_bf16.fraction_bits &&
                  Format.bias < format_bf16.bias);
    return widen<Format>(bits) >> 16;
}

struct byte_float;

/// Converts `count` elements from one dense block to another; the blocks need no alignment.
///
/// \param format the source's format if it is a float of at most a byte, otherwise null
using block_function = void (*)(byte_float const* format, unsigned char const* source,
                                unsigned char* target, index_t count);

/// Converts one element. The addresses need no alignment.
template <class Source, class Target, auto Convert>
[[gnu::always_inline]] inline void convert_one(unsigned char const* source, unsigned char* target) {
    Source value;
    std::memcpy(&value, source, sizeof value);
    auto const converted = static_cast<Target>(Convert(value));
    std::memcpy(target, &converted, sizeof converted);
}

/// A format of at most 8 bits, for kernels that learn the format at run time.
///
/// bf16 can represent every value of such a format, so `bf16` is a lookup table. Kernels with
/// 32-byte registers look up each byte of a value by the lower half of its pattern. `lower` and
/// `upper` have tables for magnitudes below 16, for the largest 16, and for the others. The upper
/// half of the pattern selects what is added to the upper byte: its sign and some of its exponent.
struct byte_float {
    using half_table = std::array<unsigned char, 16>;

    alignas(64) std::array<std::uint16_t, 256> bf16{}; ///< for each pattern
    half_table lower[3] = {};
    half_table upper[3] = {};
    half_table added{};

    /// Whether the pattern of minus zero is the only NaN.
    constexpr bool has_only_nan() const { return bf16[0x80] == 0xffc0; }

    /// Makes the tables for halves of patterns. Returns false if they do not give all values of
    /// `bf16`, or if positive patterns have negative values.
    constexpr bool divide() {
        constexpr std::size_t first[] = {0x00, 0x70, 0x10};
        int const step = (bf16[0x20] >> 8) - (bf16[0x10] >> 8);
        for (int half = 0; half < 16; ++half)
            added[static_cast<std::size_t>(half)] =
                static_cast<unsigned char>(half % 8 * step + half / 8 * 0x80);
        for (std::size_t table = 0; table < 3; ++table)
            for (std::size_t i = 0; i < 16; ++i) {
                std::uint16_t const value = bf16[first[table] + i];
                lower[table][i] = static_cast<unsigned char>(value);
                upper[table][i] =
                    static_cast<unsigned char>((value >> 8) - added[first[table] / 16]);
            }
        std::uint16_t different = 0;
        for (std::size_t half = 0; half < 16; ++half) {
            std::size_t const table = half % 8 == 0 ? 0 : half % 8 == 7 ? 1 : 2;
            for (std::size_t i = 0; i < 16; ++i) {
                int const upper_byte = upper[table][i] + added[half];
                different |= static_cast<std::uint16_t>(bf16[16 * half + i] ^
                                                        (upper_byte << 8 | lower[table][i]));
            }
        }
        return different == 0 && (bf16[0] & 0x8000) == 0;
    }
};

template <float_format Format>
constexpr byte_float byte_float_of() {
    byte_float byte_float;
    for (std::uint32_t bits = 0; bits < 2u << magnitude_bits(Format); ++bits)
        byte_float.bf16[bits] = static_cast<std::uint16_t>(widen_to_bf16<Format>(bits));
    byte_float.divide();
    return byte_float;
}

template <float_format Format>
inline constexpr byte_float byte_float_table = byte_float_of<Format>();

/// The table of a floating-point type of at most a byte; null for other types and for types without
/// a sign.
constexpr byte_float const* find_byte_float(data_type dtype) {
    switch (dtype) {
    case data_type::f4: return &byte_float_table<format_f4>;
    case data_type::f6_e2m3: return &byte_float_table<format_f6_e2m3>;
    case data_type::f6_e3m2: return &byte_float_table<format_f6_e3m2>;
    case data_type::f8_e5m2: return &byte_float_table<format_f8_e5m2>;
    case data_type::f8_e4m3: return &byte_float_table<format_f8_e4m3>;
    case data_type::f8_e4m3fnuz: return &byte_float_table<format_f8_e4m3fnuz>;
    case data_type::f8_e5m2fnuz: return &byte_float_table<format_f8_e5m2fnuz>;
    default: return nullptr;
    }
}

} // namespace reshard::detail

#endif
