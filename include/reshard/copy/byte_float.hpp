// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_BYTE_FLOAT_HPP
#define RESHARD_COPY_BYTE_FLOAT_HPP

#include <reshard/copy/fast_float.hpp>
#include <reshard/core/data_type.hpp>

#include <array>
#include <cstdint>

/// \file
/// Floats of a byte at most, as tables: one body of a kernel reads any of them.

namespace reshard::detail {

/// What kernels know of a format of at most 8 bits that they learn only as they run.
///
/// Every value of such a format is one of bf16, which is a table. Of formats of 8 bits, wide
/// registers work it out: below `first_normal` the magnitude is looked up, from there on it is
/// `magnitude * factor + rebias`; what exceeds `largest`, or is the `only_nan`, gets
/// `special_rebias` beside.
struct byte_float {
    alignas(64) std::array<std::uint16_t, 256> bf16{}; ///< of each pattern
    std::array<unsigned char, 16> small{}; ///< lower bytes of the first eight, then upper ones
    std::uint16_t factor = 0;
    std::uint16_t rebias = 0;
    std::uint16_t first_normal = 0;
    std::uint16_t largest = 0;
    std::uint16_t only_nan = 0; ///< its byte twice; where there is none, no byte twice
    std::uint16_t special_rebias = 0;

    constexpr bool has_only_nan() const { return only_nan == 0x8080; }
};

template <float_format Format>
constexpr byte_float byte_float_of() {
    byte_float made;
    for (std::uint32_t bits = 0; bits < 2u << magnitude_bits(Format); ++bits)
        made.bf16[bits] = static_cast<std::uint16_t>(widen_to_bf16<Format>(bits));
    for (std::size_t i = 0; i < 8; ++i) {
        made.small[i] = static_cast<unsigned char>(made.bf16[i]);
        made.small[i + 8] = static_cast<unsigned char>(made.bf16[i] >> 8);
    }
    made.factor = std::uint16_t{1} << (format_bf16.fraction_bits - Format.fraction_bits);
    made.rebias =
        static_cast<std::uint16_t>((format_bf16.bias - Format.bias) << format_bf16.fraction_bits);
    made.first_normal = std::uint16_t{1} << Format.fraction_bits;
    made.largest = static_cast<std::uint16_t>(largest_finite(Format));
    made.only_nan = Format.specials == special_values::zero_nan ? 0x8080 : 0x0001;
    std::uint32_t const special = made.largest + 1u;
    made.special_rebias = static_cast<std::uint16_t>(
        made.has_only_nan() ? 0x7fc0 : made.bf16[special] - special * made.factor - made.rebias);
    return made;
}

template <float_format Format>
inline constexpr byte_float byte_float_table = byte_float_of<Format>();

/// The table of a type; null for those that are larger, or no floats with a sign.
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
