// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_CONVERT_HPP
#define RESHARD_COPY_CONVERT_HPP

#include <reshard/copy/number.hpp>
#include <reshard/core/data_type.hpp>

#include <optional>

/// \file
/// One element from any data type to any other: what every faster conversion must agree with.

namespace reshard {

namespace detail {

/// The format of a floating-point data type; nothing for integers, `bool` and complex numbers.
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

/// The lowest `count` bits set.
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

/// The number that an element stands for, its bits being the lowest of `bits`.
///
/// A `bool` is 1 where any of its bits is set.
///
/// \pre `dtype` is not complex
constexpr number decode(data_type dtype, std::uint64_t bits) {
    BOOST_ASSERT(dtype != data_type::c64);
    if (auto const format = float_format_of(dtype))
        return decode(*format, bits);
    if (dtype == data_type::boolean)
        return {number::kind_type::finite, false, 0, bits != 0};
    return decode_integer(dtype, bits);
}

/// The element for a number, rounded once.
///
/// Integers take the number cut towards zero, the nearest bound where it does not fit, and 0 for a
/// NaN; `bool` takes "not zero", so a NaN is true; a complex number has the imaginary part 0.
constexpr std::uint64_t encode(data_type dtype, number const& value) {
    if (auto const format = float_format_of(dtype))
        return encode(*format, value);
    if (dtype == data_type::c64)
        return encode(format_f32, value);
    if (dtype == data_type::boolean)
        return !value.is_zero();
    return encode_integer(dtype, value);
}

} // namespace detail

/// The element of type `target` for the element `bits` of type `source`: bits in and out.
///
/// \par Source PyTorch and NumPy, from which integers differ: there they wrap where they do not fit
/// \throws     error with errc::dtype_mismatch when a complex number is to become a real one
constexpr std::uint64_t convert(data_type source, data_type target, std::uint64_t bits) {
    if (source == target)
        return bits;
    if (source == data_type::c64)
        fail(errc::dtype_mismatch, "elements of type complex64 cannot be cast to " +
                                       std::string(name(target)) +
                                       ": a real number cannot hold an imaginary part");
    return detail::encode(target, detail::decode(source, bits));
}

} // namespace reshard

#endif
