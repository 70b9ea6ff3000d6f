// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_CAST_HPP
#define RESHARD_EXPR_CAST_HPP

#include <reshard/expr/expression.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

/// \file
/// The elements of a tensor in another data type, or times or plus a constant.

namespace reshard {

namespace detail {

/// The tensor with one more step for each element.
///
/// \throws error with errc::limit_exceeded if a chain of steps becomes too long
constexpr expression with_step(expression const& tensor, chain_step const& step) {
    expression result{tensor.shape, step.dtype, piece_list(tensor.ndim())};
    result.pieces.reserve(tensor.pieces.size());
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i) {
        piece changed = tensor.pieces[i];
        bool const is_zeros = changed.source == zero_source; // and stays zeros
        changed.steps =
            then(changed.steps, changed.stored, is_zeros ? chain_step{step.dtype} : step);
        result.pieces.push_back(changed);
    }
    return result;
}

/// Whether elements of that type can be dequantized: they are quantised, and are not packed.
constexpr bool may_be_dequantized(data_type dtype) {
    return bits(dtype) == 8 && (dtype == data_type::i8 || is_floating(dtype)) &&
           dtype != data_type::f8_e8m0;
}

/// How values are packed in the elements of a quantised tensor.
enum class value_packing : std::uint8_t {
    none,
    pairs,   ///< two values of 4 bits (f4) in a byte, so that the last axis is twice as long
    groups,  ///< pairs, and the last axis is part of the axis before it: gpt-oss has groups there
    decoded, ///< not at all: the files are shown with the values
};

/// The tensor with each element times its scale. The mapping must relate each source to its scales.
///
/// \param number as `chain_step::operand`
/// \throws error with errc::dtype_mismatch, or with errc::unsupported for elements that were
///         changed before; the text follows the tensor's name
constexpr expression dequantized(expression const& tensor, data_type dtype, double number = 0) {
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        if (!tensor.pieces[i].steps.empty() && tensor.pieces.source(i) != zero_source)
            fail(errc::unsupported,
                 "its elements are cast or computed before they are dequantized; "
                 "dequantize first");
    if (number == 0 ? !may_be_dequantized(tensor.dtype) : tensor.dtype != data_type::u8)
        fail(errc::dtype_mismatch, "it is ", tensor.dtype,
             number == 0 ? ", and only 8-bit floating-point numbers and int8 can be dequantized"
                         : "; packed 4-bit values must be uint8");
    if (!is_floating(dtype) || computing_type(tensor.dtype, dtype) != data_type::f32)
        fail(errc::dtype_mismatch, "it cannot be dequantized to ", dtype,
             "; the result is a floating-point number of at most 32 bits, so cast it afterwards");
    return with_step(tensor, {dtype, chain_step::operation::dequantize, number});
}

constexpr bool has_zeros(expression const& tensor) {
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        if (tensor.pieces.source(i) == zero_source)
            return true;
    return false;
}

/// Refuses arithmetic on other types than floating-point numbers, and a constant that is another
/// number in the type of the computation: infinite, or zero.
///
/// \throws error with errc::dtype_mismatch or errc::overflow; the text follows the tensor's name
constexpr void check_arithmetic(data_type source, chain_step const& step) {
    for (data_type const dtype : {source, step.dtype})
        if (!is_floating(dtype))
            fail(errc::dtype_mismatch, "it is ", dtype,
                 ", but arithmetic needs floating-point numbers; cast it first");
    data_type const computed = computing_type(source, step.dtype);
    bool const is_wide = computed == data_type::f64;
    // What rounds to an f32 that is not zero and not infinite.
    double const least = is_wide ? 0 : 0x1p-150, beyond = 0x1.ffffffp127;
    double const size = step.operand < 0 ? -step.operand : step.operand;
    bool const is_finite = is_wide ? size <= std::numeric_limits<double>::max() : size < beyond;
    if (!is_finite || (size > 0 && size <= least))
        fail(errc::overflow, "it is computed in ", computed, ", which does not have the number ",
             shortest_text(step.operand));
}

/// Refuses arithmetic that would change zeros without a source.
constexpr void check_zeros(expression const& tensor, chain_step const& step) {
    bool const is_negative = std::bit_cast<std::uint64_t>(step.operand) >> 63 != 0;
    bool const keeps_zeros = step.computes == chain_step::operation::multiply && !is_negative;
    if (!keeps_zeros && has_zeros(tensor))
        fail(errc::unsupported, "it has zeros without a source, which arithmetic would change; "
                                "compute before the statement that appends them");
}

/// The tensor with arithmetic for each element.
constexpr expression with_arithmetic(expression const& tensor, chain_step const& step) {
    check_arithmetic(tensor.dtype, step);
    check_zeros(tensor, step);
    return with_step(tensor, step);
}

} // namespace detail

/// The tensor with each element rounded to `dtype` (to nearest, ties to even; NaN stays NaN).
///
/// \throws     error with errc::dtype_mismatch between complex and real numbers, with
///             errc::limit_exceeded after more than 15 roundings in a row, or three of
///             arithmetic
/// \par Source the dtype attribute of AOA, which supports only float16, float32 and bfloat16
constexpr expression cast(expression const& tensor, data_type dtype) {
    detail::check_castable(tensor.dtype, dtype);
    return detail::with_step(tensor, {dtype});
}

/// Each element times `factor`, computed in f32 (in f64 if one of the types is f64) and rounded
/// once to `dtype`, which is the tensor's own type by default. Zeros without a source stay zeros.
///
/// \throws     error with errc::dtype_mismatch if a type has no floating-point numbers, with
///             errc::overflow if the type of the computation cannot hold the factor, even
///             as a denormal, with
///             errc::unsupported for a negative factor of zeros without a source, with
///             errc::limit_exceeded as `cast`
/// \par Source the attribute `scale` of AOA here; PaddlePaddle's language has no arithmetic
constexpr expression scaled(expression const& tensor, double factor,
                            std::optional<data_type> dtype = {}) {
    return detail::with_arithmetic(
        tensor, {dtype.value_or(tensor.dtype), detail::chain_step::operation::multiply, factor});
}

/// Each element plus `addend`, computed and rounded as by `scaled`.
///
/// \throws error as `scaled`, and with errc::unsupported for any tensor that has zeros without a
///         source
constexpr expression shifted(expression const& tensor, double addend,
                             std::optional<data_type> dtype = {}) {
    return detail::with_arithmetic(
        tensor, {dtype.value_or(tensor.dtype), detail::chain_step::operation::add, addend});
}

} // namespace reshard

#endif
