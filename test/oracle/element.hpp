// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_ELEMENT_HPP
#define RESHARD_TEST_ORACLE_ELEMENT_HPP

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

/// \file
/// Integers as elements of a data type: which ones it has, and the bits that they are.

namespace reshard::oracle {

/// The significant binary digits of a type of floating point numbers; 0 for integers.
inline int digits_of(std::string const& dtype) {
    return dtype == "bfloat16"  ? 8
           : dtype == "float16" ? 11
           : dtype == "float32" ? 24
           : dtype == "float64" ? 53
                                : 0;
}

/// The binary digits of an integer type, without its sign.
inline int integer_digits_of(std::string const& dtype) {
    return dtype == "int8"    ? 7
           : dtype == "uint8" ? 8
           : dtype == "int16" ? 15
           : dtype == "int32" ? 31
           : dtype == "int64" ? 63
                              : 0;
}

/// The bits of the exponent of a type of floating point numbers.
inline int exponent_bits_of(std::string const& dtype) {
    return dtype == "float16" ? 5 : dtype == "float64" ? 11 : 8;
}

/// Whether `to` has all values of `from`.
inline bool holds(std::string const& from, std::string const& to) {
    int const digits = digits_of(from), integer_digits = integer_digits_of(from);
    if (digits > 0)
        return digits <= digits_of(to) && exponent_bits_of(from) <= exponent_bits_of(to);
    if (digits_of(to) > 0)
        return integer_digits <= digits_of(to);
    return integer_digits <= integer_digits_of(to) && (to != "uint8" || from == "uint8");
}

/// The bytes of one element.
inline std::size_t bytes_of(std::string const& dtype) {
    if (dtype == "int8" || dtype == "uint8")
        return 1;
    if (dtype == "int16" || dtype == "float16" || dtype == "bfloat16")
        return 2;
    if (dtype == "int32" || dtype == "float32")
        return 4;
    if (dtype == "int64" || dtype == "float64")
        return 8;
    throw std::logic_error("the oracle does not know the data type " + dtype);
}

/// The integer of the type that is nearest to `value`; the even one if two are equally near. Beyond
/// an integer type, its bound.
inline std::int64_t nearest(std::string const& dtype, std::int64_t value) {
    auto const size = static_cast<std::uint64_t>(value < 0 ? -value : value);
    int const dropped = static_cast<int>(std::bit_width(size)) - digits_of(dtype);
    if (int const integer = integer_digits_of(dtype); integer > 0 && integer < 63) {
        std::int64_t const most = (std::int64_t{1} << integer) - 1;
        return std::clamp(value, dtype == "uint8" ? 0 : -most - 1, most);
    }
    if (digits_of(dtype) == 0 || dropped <= 0)
        return value;
    std::uint64_t const unit = std::uint64_t{1} << dropped;
    std::uint64_t const below = size / unit;
    std::uint64_t const remainder = size % unit;
    bool const up = remainder > unit / 2 || (remainder == unit / 2 && below % 2 == 1);
    auto const rounded = static_cast<std::int64_t>((below + (up ? 1 : 0)) * unit);
    return value < 0 ? -rounded : rounded;
}

/// The value of element number `index` of source tensor number `tensor`: the index plus a number of
/// the tensor, as near as the type comes; small types count in circles.
inline std::int64_t source_value(std::string const& dtype, std::int64_t tensor,
                                 std::int64_t index) {
    std::int64_t const value = tensor * 997 % 20000 + index;
    if (dtype == "int8")
        return value % 127 - 63;
    if (dtype == "uint8")
        return value % 251;
    return nearest(dtype, tensor % 5 == 4 ? -value : value);
}

/// Sign, exponent and fraction of an integer that the type has.
inline std::uint64_t float_bits(std::int64_t value, int fraction_bits, int exponent_bits) {
    std::uint64_t const sign = value < 0;
    auto const size = static_cast<std::uint64_t>(value < 0 ? -value : value);
    if (size == 0)
        return 0;
    int const exponent = static_cast<int>(std::bit_width(size)) - 1;
    std::uint64_t const fraction = exponent <= fraction_bits ? (size << (fraction_bits - exponent))
                                                             : (size >> (exponent - fraction_bits));
    std::uint64_t const hidden = std::uint64_t{1} << fraction_bits;
    auto const biased = static_cast<std::uint64_t>(exponent + (1 << (exponent_bits - 1)) - 1);
    return (((sign << exponent_bits) | biased) << fraction_bits) | (fraction & (hidden - 1));
}

/// The bits of an element, in the lowest `bytes_of(dtype)` bytes.
inline std::uint64_t bits_of(std::string const& dtype, std::int64_t value) {
    if (dtype == "bfloat16")
        return float_bits(value, 7, 8);
    if (dtype == "float16")
        return float_bits(value, 10, 5);
    if (dtype == "float32")
        return float_bits(value, 23, 8);
    if (dtype == "float64")
        return float_bits(value, 52, 11);
    return static_cast<std::uint64_t>(value);
}

} // namespace reshard::oracle

#endif
