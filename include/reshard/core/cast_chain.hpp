// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_CAST_CHAIN_HPP
#define RESHARD_CORE_CAST_CHAIN_HPP

#include <reshard/core/data_type.hpp>
#include <reshard/core/members.hpp>

#include <cstdint>
#include <iterator>
#include <span>

/// \file
/// The data types to which an element is cast in sequence. Each cast may round.

namespace reshard::detail {

/// The limits of a number format: significant bits, the range of its exponents, and its special
/// values.
struct number_range {
    int precision;  ///< significant binary digits, including the hidden one
    int lowest;     ///< exponent of the smallest subnormal
    int highest;    ///< exponent of the largest finite value
    bool is_signed; ///< whether the format has negative numbers
    bool has_zero;
    bool has_infinity;
    bool has_nan;
    bool has_minus_zero;
};

/// The range of integers with that many binary digits, not counting the sign.
constexpr number_range integer_range(int digits, bool is_signed) {
    return {digits, 0, digits - 1, is_signed, true, false, false, false};
}

/// The limits of a data type; for a complex number, the limits of each of its two parts.
constexpr number_range range_of(data_type dtype) {
    switch (dtype) {
    case data_type::boolean: return integer_range(1, false);
    case data_type::u8: return integer_range(8, false);
    case data_type::i8: return integer_range(7, true);
    case data_type::u16: return integer_range(16, false);
    case data_type::i16: return integer_range(15, true);
    case data_type::u32: return integer_range(32, false);
    case data_type::i32: return integer_range(31, true);
    case data_type::u64: return integer_range(64, false);
    case data_type::i64: return integer_range(63, true);
    case data_type::f4: return {2, -1, 2, true, true, false, false, true};
    case data_type::f6_e2m3: return {4, -3, 2, true, true, false, false, true};
    case data_type::f6_e3m2: return {3, -4, 4, true, true, false, false, true};
    case data_type::f8_e5m2: return {3, -16, 15, true, true, true, true, true};
    case data_type::f8_e4m3: return {4, -9, 8, true, true, false, true, true};
    case data_type::f8_e8m0: return {1, -127, 127, false, false, false, true, false};
    case data_type::f8_e4m3fnuz: return {4, -10, 7, true, true, false, true, false};
    case data_type::f8_e5m2fnuz: return {3, -17, 15, true, true, false, true, false};
    case data_type::f16: return {11, -24, 15, true, true, true, true, true};
    case data_type::bf16: return {8, -133, 127, true, true, true, true, true};
    case data_type::f32: return {24, -149, 127, true, true, true, true, true};
    case data_type::c64: return {24, -149, 127, true, true, true, true, true};
    case data_type::f64:
    case data_type::c128: return {53, -1074, 1023, true, true, true, true, true};
    }
    return {};
}

/// True if every value of `from`, including zeros, infinities and NaN, is a value of `to`.
///
/// The minimum of an integer type counts, too. It is a power of two, so every type with enough
/// digits can hold it.
constexpr bool is_lossless(data_type from, data_type to) {
    if (from == to)
        return true;
    if (is_complex(from) != is_complex(to))
        return false;
    auto const a = range_of(from);
    auto const b = range_of(to);
    return a.precision <= b.precision && a.lowest >= b.lowest && a.highest <= b.highest &&
           (!a.is_signed || b.is_signed) && (!a.has_zero || b.has_zero) &&
           (!a.has_infinity || b.has_infinity) && (!a.has_nan || b.has_nan) &&
           (!a.has_minus_zero || b.has_minus_zero);
}

/// True if the cast is defined: complex numbers can be cast only to complex numbers, and real
/// numbers only to real numbers.
constexpr bool is_castable(data_type from, data_type to) {
    return is_complex(from) == is_complex(to);
}

/// Throws if the cast is not defined.
///
/// \throws error with errc::dtype_mismatch
constexpr void check_castable(data_type from, data_type to) {
    if (!is_castable(from, to))
        fail(errc::dtype_mismatch, "elements of type ", from, " cannot be cast to ", to,
             is_complex(from) ? ": a real number cannot hold an imaginary part"
                              : ": only complex numbers can be cast to complex numbers");
}

/// The data types to which elements are cast in sequence, starting from the source's type. Each
/// cast may round.
///
/// For example, f32 -> bf16 -> f32 rounds, so the chain keeps both casts. It drops intermediate
/// casts that are lossless.
struct cast_chain {
    data_type values[15] = {};
    std::uint8_t count = 0;

    constexpr bool empty() const { return count == 0; }
    constexpr std::span<data_type const> steps() const { return {values, count}; }

    static constexpr void members(auto& self, auto&& visit) {
        visit(array_prefix{self.values, self.count});
    }

    constexpr bool operator==(cast_chain const&) const = default;
};

/// The data type at the end of the chain.
constexpr data_type result(data_type source, cast_chain const& chain) {
    return chain.empty() ? source : chain.values[chain.count - 1];
}

/// The chain followed by a cast to `dtype`; steps that cannot change a value are dropped.
///
/// \par Units  data types; `source` is the type in which the elements are stored
/// \post       `result(source, then(chain, source, dtype)) == dtype`
/// \throws     error with errc::limit_exceeded if more than 15 roundings remain
/// \par Source PaddlePaddle keeps a list of casts in text form and runs each of them; here, a
///             lossless cast that a later cast undoes is dropped
constexpr cast_chain then(cast_chain chain, data_type source, data_type dtype) {
    while (!chain.empty()) {
        data_type const last = result(source, chain);
        cast_chain shorter = chain;
        shorter.values[--shorter.count] = {};
        if (last != dtype && !is_lossless(result(source, shorter), last))
            break;
        if (last == dtype)
            return chain;
        chain = shorter;
    }
    if (result(source, chain) == dtype)
        return chain;
    if (chain.count == std::size(chain.values))
        fail(errc::limit_exceeded, "a tensor is cast more than 15 times in a row");
    chain.values[chain.count++] = dtype;
    return chain;
}

} // namespace reshard::detail

#endif
