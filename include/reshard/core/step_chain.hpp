// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_STEP_CHAIN_HPP
#define RESHARD_CORE_STEP_CHAIN_HPP

#include <reshard/core/data_type.hpp>
#include <reshard/core/members.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

/// \file
/// The steps from a stored element to its target: casts and arithmetic. Each step may round.

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

/// True for floating-point numbers, of any size.
constexpr bool is_floating(data_type dtype) {
    return !is_complex(dtype) && (range_of(dtype).has_nan || range_of(dtype).has_minus_zero);
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

/// One step of a chain: arithmetic, if any, and a cast of its result.
struct chain_step {
    enum class operation : std::uint8_t {
        none,     ///< only the cast
        multiply, ///< by `operand`
        add,      ///< `operand`
        /// Multiply by the scale of the element's block; only as the first step. If an element has
        /// two values of 4 bits, `operand` is 1 for the lower bits and 2 for the upper bits.
        dequantize,
    };

    data_type dtype{}; ///< the type to which the result is rounded
    operation computes = operation::none;
    double operand = 0;

    constexpr bool operator==(chain_step const&) const = default;
};

/// The type in which a step computes: f64 if its source or its result is f64, otherwise f32.
constexpr data_type computing_type(data_type source, data_type result) {
    return source == data_type::f64 || result == data_type::f64 ? data_type::f64 : data_type::f32;
}

/// The steps of a chain as a list.
struct chain_steps {
    chain_step at[15] = {};
    std::size_t count = 0;

    constexpr chain_step const* begin() const { return at; }
    constexpr chain_step const* end() const { return at + count; }
    constexpr std::size_t size() const { return count; }
    constexpr chain_step const& operator[](std::size_t i) const { return at[i]; }
};

/// What happens to an element between source and target: casts, and arithmetic with constants.
///
/// For example, f32 -> bf16 -> f32 rounds, so the chain keeps both casts. It drops intermediate
/// casts that are lossless.
///
/// A step takes a byte. After a product or a sum, its constant follows: an f32, or an f64 if the
/// step computes in f64 and an f32 cannot hold it. For packed values, a byte says which 4 bits are
/// meant.
struct step_chain {
    std::uint8_t values[15] = {};
    std::uint8_t count = 0; ///< number of bytes

    constexpr bool empty() const { return count == 0; }

    static constexpr void members(auto& self, auto&& visit) {
        visit(array_prefix{self.values, self.count});
    }

    constexpr bool operator==(step_chain const&) const = default;

    /// The steps, in order.
    ///
    /// \throws error with errc::bad_layout if the bytes are not a chain
    constexpr chain_steps steps() const;

    /// True if some step computes.
    constexpr bool computes() const;

    /// True if the first step multiplies by scales.
    constexpr bool dequantizes() const;
};

namespace step_code {

inline constexpr std::uint8_t dtype_mask = 0x1f;
inline constexpr std::uint8_t wide_flag = 0x20; ///< the constant is an f64
inline constexpr int operation_shift = 6;

static_assert(data_type_count <= dtype_mask + 1);

} // namespace step_code

/// Whether the step that begins with this byte multiplies by scales.
constexpr bool is_dequantize(std::uint8_t code) {
    return code >> step_code::operation_shift ==
           static_cast<int>(chain_step::operation::dequantize);
}

/// The number of bytes of a step.
constexpr std::size_t step_bytes(std::uint8_t code) {
    bool const is_wide = (code & step_code::wide_flag) != 0;
    if (is_dequantize(code))
        return is_wide ? 2 : 1;
    return code >> step_code::operation_shift == 0 ? 1 : is_wide ? 9 : 5;
}

constexpr chain_steps step_chain::steps() const {
    chain_steps list;
    for (std::size_t i = 0; i < count; i += step_bytes(values[i])) {
        std::uint8_t const code = values[i], type = code & step_code::dtype_mask;
        unsigned const operation = code >> step_code::operation_shift;
        bool const is_wide = (code & step_code::wide_flag) != 0;
        if (type >= data_type_count || i + step_bytes(code) > count ||
            (i > 0 && is_dequantize(code)) || (step_bytes(code) == 1 && is_wide) ||
            (is_dequantize(code) && is_wide && (values[i + 1] < 1 || values[i + 1] > 2)))
            fail(errc::bad_layout, "byte ", i, " of a chain of steps is ", int{code},
                 ", which does not begin a step");
        std::uint64_t pattern = 0;
        for (std::size_t k = step_bytes(code); k-- > 1;)
            pattern = pattern << 8 | values[i + k];
        double const operand =
            is_dequantize(code) ? static_cast<double>(pattern)
            : is_wide           ? std::bit_cast<double>(pattern)
                                : double{std::bit_cast<float>(static_cast<std::uint32_t>(pattern))};
        list.at[list.count++] = {static_cast<data_type>(type),
                                 static_cast<chain_step::operation>(operation), operand};
    }
    return list;
}

constexpr bool step_chain::computes() const {
    for (std::size_t i = 0; i < count; i += step_bytes(values[i]))
        if (values[i] >> step_code::operation_shift != 0)
            return true;
    return false;
}

constexpr bool step_chain::dequantizes() const { return count > 0 && is_dequantize(values[0]); }

/// \throws error with errc::bad_layout if the bytes are not a chain
constexpr void validate(step_chain const& chain) { static_cast<void>(chain.steps()); }

/// The index of the last step's first byte; 0 for an empty chain.
constexpr std::size_t last_step(step_chain const& chain) {
    std::size_t last = 0;
    for (std::size_t i = 0; i < chain.count; i += step_bytes(chain.values[i]))
        last = i;
    return last;
}

/// The data type at the end of the chain.
constexpr data_type result(data_type source, step_chain const& chain) {
    return chain.empty()
               ? source
               : static_cast<data_type>(chain.values[last_step(chain)] & step_code::dtype_mask);
}

/// Refuses one more step.
[[noreturn]] inline void refuse_step(step_chain const& chain, chain_step const& step) {
    if (!chain.computes() && step.computes == chain_step::operation::none)
        fail(errc::limit_exceeded, "a tensor is cast more than 15 times in a row");
    fail(
        errc::limit_exceeded,
        "too many steps of arithmetic in a row: there is room for three, or for one whose constant "
        "needs an f64; combine the constants, or write a checkpoint in between");
}

/// The chain followed by a step, as it is.
///
/// \throws error with errc::limit_exceeded if the chain lacks room for it
constexpr step_chain appended(step_chain chain, data_type source, chain_step const& step) {
    bool const has_scale = step.computes == chain_step::operation::dequantize;
    bool const is_wide =
        has_scale ? step.operand != 0
                  : step.computes != chain_step::operation::none &&
                        computing_type(result(source, chain), step.dtype) == data_type::f64 &&
                        double{static_cast<float>(step.operand)} != step.operand;
    auto const code = static_cast<std::uint8_t>(
        static_cast<unsigned>(step.dtype) | (is_wide ? step_code::wide_flag : 0u) |
        static_cast<unsigned>(step.computes) << step_code::operation_shift);
    if (chain.count + step_bytes(code) > std::size(chain.values))
        refuse_step(chain, step);
    std::uint64_t pattern = has_scale ? static_cast<std::uint64_t>(step.operand)
                            : is_wide
                                ? std::bit_cast<std::uint64_t>(step.operand)
                                : std::bit_cast<std::uint32_t>(static_cast<float>(step.operand));
    chain.values[chain.count++] = code;
    for (std::size_t k = 1; k < step_bytes(code); ++k, pattern >>= 8)
        chain.values[chain.count++] = static_cast<std::uint8_t>(pattern);
    return chain;
}

/// Drops a cast that the next cast to `dtype` makes unnecessary: it is lossless, or it would round
/// a result to the type in which it is computed.
///
/// \return whether it dropped one; `next` becomes the step that takes its place
constexpr bool drop_cast(step_chain& chain, data_type source, chain_step& next) {
    chain_steps const steps = chain.steps();
    chain_step const& last = steps[steps.count - 1];
    data_type const before = steps.count > 1 ? steps[steps.count - 2].dtype : source;
    bool const is_cast = last.computes == chain_step::operation::none;
    data_type const computed = computing_type(before, last.dtype);
    if (is_cast ? !is_lossless(before, last.dtype) ||
                      (next.computes != chain_step::operation::none &&
                       computing_type(before, next.dtype) != computing_type(last.dtype, next.dtype))
                : last.dtype != computed || next.computes != chain_step::operation::none ||
                      computing_type(before, next.dtype) != computed)
        return false;
    if (!is_cast)
        next = {next.dtype, last.computes, last.operand};
    for (std::size_t const begin = last_step(chain); chain.count > begin;)
        chain.values[--chain.count] = 0;
    return true;
}

/// The chain followed by a step; casts that cannot change a value are dropped.
///
/// \par Units  data types; `source` is the type in which the elements are stored
/// \post       `result(source, then(chain, source, step)) == step.dtype`
/// \throws     error with errc::limit_exceeded if more than 15 roundings remain, or three steps of
///             arithmetic
/// \par Source PaddlePaddle keeps a list of casts in text form and runs each of them; here, a
///             lossless cast that a later cast undoes is dropped
constexpr step_chain then(step_chain chain, data_type source, chain_step step) {
    for (;;) {
        bool const is_cast = step.computes == chain_step::operation::none;
        if (is_cast && result(source, chain) == step.dtype)
            return chain;
        if (chain.empty() || !drop_cast(chain, source, step))
            return appended(chain, source, step);
    }
}

/// The chain followed by a cast to `dtype`.
constexpr step_chain then(step_chain const& chain, data_type source, data_type dtype) {
    return then(chain, source, chain_step{dtype});
}

} // namespace reshard::detail

#endif
