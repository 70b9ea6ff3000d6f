// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_CONVERT_HPP
#define RESHARD_COPY_CONVERT_HPP

#include <reshard/copy/float_format.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/step_chain.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

/// \file
/// Converts one element from any data type to any other. Every faster conversion must give the same
/// result.

namespace reshard {

namespace detail {

/// `significand * 2^exponent` with its sign, an infinity or a NaN.
///
/// A `number` represents every element of every real data type exactly.
///
/// \invariant the significand of a NaN is its left-aligned payload; IEEE's quiet bit is the highest
///            bit
struct number {
    enum class kind_type : std::uint8_t { finite, infinite, nan };

    kind_type kind = kind_type::finite;
    bool negative = false;
    int exponent = 0;
    std::uint64_t significand = 0;

    constexpr bool is_finite() const { return kind == kind_type::finite; }
    constexpr bool is_nan() const { return kind == kind_type::nan; }
    constexpr bool is_zero() const { return is_finite() && significand == 0; }

    constexpr bool operator==(number const&) const = default;
};

/// The left-aligned payload of a NaN. For formats with a single NaN, the payload of a quiet NaN.
constexpr std::uint64_t payload(float_format format, std::uint64_t bits) {
    return format.specials == special_values::ieee
               ? (bits & fraction_mask(format)) << (64 - format.fraction_bits)
               : std::uint64_t{1} << 63;
}

/// Encodes a NaN with the highest bits of its payload that fit. If these are all zero, sets the
/// quiet bit, so that the result is still a NaN.
constexpr std::uint64_t encode_nan(float_format format, std::uint64_t payload) {
    if (format.specials != special_values::ieee)
        return overflow_bits(format);
    std::uint64_t const fraction = payload >> (64 - format.fraction_bits);
    std::uint64_t const quiet = std::uint64_t{1} << (format.fraction_bits - 1);
    return overflow_bits(format) | (fraction ? fraction : quiet);
}

/// `significand / 2^shift`, rounded to nearest, ties to even.
constexpr std::uint64_t round_shift(std::uint64_t significand, int shift) {
    if (shift <= 0)
        return significand << -shift;
    if (shift > 64)
        return 0;
    std::uint64_t const kept = shift == 64 ? 0 : significand >> shift;
    std::uint64_t const half = std::uint64_t{1} << (shift - 1);
    std::uint64_t const remainder = significand & (half | (half - 1));
    return kept + (remainder > half || (remainder == half && (kept & 1)));
}

/// The pattern of a finite number, without its sign.
constexpr std::uint64_t encode_finite(float_format format, number const& value) {
    if (value.significand == 0)
        return 0;
    bool const is_power = format.specials == special_values::power;
    int const bias = format.bias + is_power; // reserves exponent field 0, as in other formats
    int const top = value.exponent + static_cast<int>(std::bit_width(value.significand)) - 1;
    int const leading = std::max(top, 1 - bias);
    int const field = leading + bias - 1;
    if (field >> format.exponent_bits)
        return overflow_bits(format);
    // The leading 1 of a normal number carries into the exponent. Rounding up may carry, too.
    std::uint64_t const bits =
        (static_cast<std::uint64_t>(field) << format.fraction_bits) +
        round_shift(value.significand, leading - format.fraction_bits - value.exponent);
    std::uint64_t const shifted_back = is_power && bits > 0 ? bits - 1 : bits;
    return shifted_back > largest_finite(format) ? overflow_bits(format) : shifted_back;
}

/// The pattern of a number, without its sign.
constexpr std::uint64_t encode_magnitude(float_format format, number const& value) {
    switch (value.kind) {
    case number::kind_type::nan: return encode_nan(format, value.significand);
    case number::kind_type::infinite: return overflow_bits(format);
    default: return encode_finite(format, value);
    }
}

/// The number of a pattern of `format`.
constexpr number decode(float_format format, std::uint64_t bits) {
    bool const negative = (bits & sign_mask(format)) != 0;
    if (is_nan(format, bits))
        return {number::kind_type::nan, negative, 0, payload(format, bits)};
    std::uint64_t const magnitude = bits & magnitude_mask(format);
    if (magnitude > largest_finite(format))
        return {number::kind_type::infinite, negative, 0, 0};
    int const field = static_cast<int>(magnitude >> format.fraction_bits);
    if (format.specials == special_values::power)
        return {number::kind_type::finite, false, field - format.bias, 1};
    std::uint64_t const hidden = std::uint64_t{field != 0} << format.fraction_bits;
    return {number::kind_type::finite, negative,
            std::max(field, 1) - format.bias - format.fraction_bits,
            (magnitude & fraction_mask(format)) | hidden};
}

/// The pattern of `format` for a number: rounded once, to nearest, ties to even.
///
/// A NaN stays a NaN and keeps the part of its payload that fits. A number that is too large
/// becomes infinity. In formats without infinity it becomes NaN, and in formats without NaN (F4,
/// F6) the largest number. A NaN also becomes the largest number there. In formats without minus
/// zero, minus zero becomes plus zero. E8M0 uses its smallest power for smaller numbers, including
/// zero, and NaN for negative numbers.
///
/// \par Source IEEE 754-2019, 4.3.1 and 5.4.2, but a signalling NaN is copied without a signal; OCP
///             8-bit floating point in its non-saturating mode, as in PyTorch and ml_dtypes; OCP MX
///             1.0, but F4 and F6 treat NaN as in CUDA
constexpr std::uint64_t encode(float_format format, number value) {
    if (format.specials == special_values::power && value.negative && !value.is_zero())
        value = {number::kind_type::nan, false, 0, 0};
    std::uint64_t const bits = encode_magnitude(format, value);
    bool const drops_sign = (format.specials == special_values::zero_nan && bits == 0) ||
                            (format.specials == special_values::none && value.is_nan());
    return value.negative && !drops_sign ? bits | sign_mask(format) : bits;
}

/// Removes the fraction of a number, and limits the result to `-largest_negative` up to
/// `largest_positive`. The result is in two's complement; it is 0 for a NaN.
///
/// \par Source C++ [conv.fpint] also removes the fraction, but is undefined if the result does not
///             fit
constexpr std::uint64_t to_integer(number const& value, std::uint64_t largest_positive,
                                   std::uint64_t largest_negative) {
    if (value.is_nan() || value.is_zero())
        return 0;
    std::uint64_t const limit = value.negative ? largest_negative : largest_positive;
    std::uint64_t magnitude = limit;
    if (value.is_finite() && value.exponent <= 0)
        magnitude = value.exponent > -64 ? value.significand >> -value.exponent : 0;
    else if (value.is_finite() && value.exponent <= std::countl_zero(value.significand))
        magnitude = value.significand << value.exponent;
    magnitude = std::min(magnitude, limit);
    return value.negative ? 0 - magnitude : magnitude;
}

/// The format of a floating-point data type; std::nullopt for integers, `bool` and complex numbers.
constexpr std::optional<float_format> float_format_of(data_type dtype) {
    switch (dtype) {
    case data_type::f4: return format_f4;
    case data_type::f6_e2m3: return format_f6_e2m3;
    case data_type::f6_e3m2: return format_f6_e3m2;
    case data_type::f8_e5m2: return format_f8_e5m2;
    case data_type::f8_e4m3: return format_f8_e4m3;
    case data_type::f8_e8m0: return format_f8_e8m0;
    case data_type::f8_e4m3fnuz: return format_f8_e4m3fnuz;
    case data_type::f8_e5m2fnuz: return format_f8_e5m2fnuz;
    case data_type::f16: return format_f16;
    case data_type::bf16: return format_bf16;
    case data_type::f32: return format_f32;
    case data_type::f64: return format_f64;
    default: return std::nullopt;
    }
}

constexpr bool is_signed_integer(data_type dtype) {
    return dtype == data_type::i8 || dtype == data_type::i16 || dtype == data_type::i32 ||
           dtype == data_type::i64;
}

/// A mask of the lowest `count` bits.
constexpr std::uint64_t low_mask(int count) {
    return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

constexpr number decode_integer(data_type dtype, std::uint64_t bits) {
    int const width = reshard::bits(dtype);
    bool const negative = is_signed_integer(dtype) && ((bits >> (width - 1)) & 1);
    std::uint64_t const magnitude = negative ? (0 - bits) & low_mask(width) : bits;
    return {number::kind_type::finite, negative, 0, magnitude};
}

constexpr std::uint64_t encode_integer(data_type dtype, number const& value) {
    int const width = bits(dtype);
    if (!is_signed_integer(dtype))
        return to_integer(value, low_mask(width), 0);
    std::uint64_t const lowest = std::uint64_t{1} << (width - 1);
    return to_integer(value, lowest - 1, lowest) & low_mask(width);
}

/// The number of the element in the lowest bits of `bits`.
///
/// A `bool` is 1 if any of its bits is set.
///
/// \pre `dtype` is not complex, here and below
constexpr number decode(data_type dtype, std::uint64_t bits) {
    BOOST_ASSERT(!is_complex(dtype));
    if (auto const format = float_format_of(dtype))
        return decode(*format, bits);
    if (dtype == data_type::boolean)
        return {number::kind_type::finite, false, 0, bits != 0};
    return decode_integer(dtype, bits);
}

/// The element for a number, rounded once.
///
/// An integer type removes the fraction. It uses the nearest bound if the number does not fit, and
/// 0 for a NaN. A `bool` is true unless the number is zero, so a NaN is true.
constexpr std::uint64_t encode(data_type dtype, number const& value) {
    if (auto const format = float_format_of(dtype))
        return encode(*format, value);
    BOOST_ASSERT(!is_complex(dtype));
    if (dtype == data_type::boolean)
        return !value.is_zero();
    return encode_integer(dtype, value);
}

} // namespace detail

/// Converts an element with the pattern `bits` from type `source` to type `target`.
///
/// \pre        `source` and `target` are not two different complex types; convert their parts
///             instead
/// \par Source PyTorch and NumPy, but there integers wrap if they do not fit
/// \throws     error as `check_castable`
constexpr std::uint64_t convert(data_type source, data_type target, std::uint64_t bits) {
    if (source == target)
        return bits;
    detail::check_castable(source, target);
    return detail::encode(target, detail::decode(source, bits));
}

} // namespace reshard

#endif
