// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_FLOAT_FORMAT_HPP
#define RESHARD_COPY_FLOAT_FORMAT_HPP

#include <cstdint>

/// \file
/// Floating-point formats of up to 64 bits as values.

namespace reshard::detail {

/// Which patterns of a format are not finite numbers.
enum class special_values : std::uint8_t {
    ieee,     ///< the highest exponent: infinities and NaNs
    last_nan, ///< all exponent and fraction bits set: NaN; no infinity ("FN")
    zero_nan, ///< the pattern of minus zero: NaN; neither infinity nor minus zero ("FNUZ")
    none,     ///< every pattern is a finite number (the 4 and 6 bit types of OCP MX)
    power,    ///< no sign, no zero, no fraction: a power of two; all bits set: NaN (E8M0 of OCP MX)
};

/// The layout of a binary floating-point format, from the lowest bit: fraction, exponent, sign.
struct float_format {
    int exponent_bits;
    int fraction_bits;
    int bias;
    special_values specials;

    constexpr bool operator==(float_format const&) const = default;
};

inline constexpr float_format format_f64{11, 52, 1023, special_values::ieee};
inline constexpr float_format format_f32{8, 23, 127, special_values::ieee};
inline constexpr float_format format_bf16{8, 7, 127, special_values::ieee};
inline constexpr float_format format_f16{5, 10, 15, special_values::ieee};
inline constexpr float_format format_f8_e5m2{5, 2, 15, special_values::ieee};
inline constexpr float_format format_f8_e4m3{4, 3, 7, special_values::last_nan};
inline constexpr float_format format_f8_e5m2fnuz{5, 2, 16, special_values::zero_nan};
inline constexpr float_format format_f8_e4m3fnuz{4, 3, 8, special_values::zero_nan};
inline constexpr float_format format_f8_e8m0{8, 0, 127, special_values::power};
inline constexpr float_format format_f6_e3m2{3, 2, 3, special_values::none};
inline constexpr float_format format_f6_e2m3{2, 3, 1, special_values::none};
inline constexpr float_format format_f4{2, 1, 1, special_values::none};

/// The number of bits below the sign.
constexpr int magnitude_bits(float_format format) {
    return format.exponent_bits + format.fraction_bits;
}

/// A mask of the sign bit; 0 if the format has no sign.
constexpr std::uint64_t sign_mask(float_format format) {
    return format.specials == special_values::power ? 0
                                                    : std::uint64_t{1} << magnitude_bits(format);
}

/// A mask of all bits below the sign.
constexpr std::uint64_t magnitude_mask(float_format format) {
    return (std::uint64_t{1} << magnitude_bits(format)) - 1;
}

constexpr std::uint64_t fraction_mask(float_format format) {
    return (std::uint64_t{1} << format.fraction_bits) - 1;
}

/// The pattern of the largest finite number.
constexpr std::uint64_t largest_finite(float_format format) {
    switch (format.specials) {
    case special_values::ieee: return magnitude_mask(format) - fraction_mask(format) - 1;
    case special_values::last_nan:
    case special_values::power: return magnitude_mask(format) - 1;
    default: return magnitude_mask(format);
    }
}

/// True for the patterns of NaN.
constexpr bool is_nan(float_format format, std::uint64_t bits) {
    std::uint64_t const magnitude = bits & magnitude_mask(format);
    switch (format.specials) {
    case special_values::ieee: return magnitude > largest_finite(format) + 1;
    case special_values::last_nan:
    case special_values::power: return magnitude == magnitude_mask(format);
    case special_values::zero_nan: return bits == sign_mask(format);
    default: return false;
    }
}

/// The pattern for a number that is too large, without its sign: infinity, otherwise NaN, otherwise
/// the largest number.
constexpr std::uint64_t overflow_bits(float_format format) {
    switch (format.specials) {
    case special_values::ieee: return largest_finite(format) + 1;
    case special_values::zero_nan: return sign_mask(format);
    case special_values::none: return largest_finite(format);
    default: return magnitude_mask(format);
    }
}

} // namespace reshard::detail

#endif
