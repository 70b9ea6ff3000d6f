// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_CONCAT_HPP
#define RESHARD_EXPR_CONCAT_HPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/expression.hpp>

#include <boost/assert.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

/// \file
/// Joins several tensors along an axis.

namespace reshard {

namespace detail {

/// The words by which errors of a concat name an operand without a key.
inline std::string operand(std::size_t number) {
    return number == 0 ? "the first" : "operand " + std::to_string(number + 1);
}

/// Refuses an operand that differs from the first operand in its number of axes, its data type, or
/// an extent along another axis. `name_of(k)` names operand number `k` in messages.
constexpr void check_operands(std::span<expression const* const> tensors, std::size_t axis,
                              auto const& name_of) {
    expression const& first = *tensors.front();
    for (std::size_t k = 1; k < tensors.size(); ++k) {
        expression const& expression = *tensors[k];
        if (expression.ndim() != first.ndim())
            fail(errc::shape_mismatch, name_of(k), " has ", counted(expression.ndim(), "axis"),
                 ", but ", name_of(0), " has ", first.ndim());
        if (expression.dtype != first.dtype)
            fail(errc::dtype_mismatch, name_of(k), " is ", expression.dtype, ", but ", name_of(0),
                 " is ", first.dtype, "; cast one of them first");
        for (std::size_t i = 0; i < first.ndim(); ++i)
            if (i != axis && expression.shape[i] != first.shape[i])
                fail(errc::shape_mismatch, name_of(k), " has the extent ", expression.shape[i],
                     " along axis ", i, ", but ", name_of(0), " has ", first.shape[i]);
    }
}

/// The total number of pieces of the tensors.
constexpr std::size_t piece_count(std::span<expression const* const> tensors) {
    std::size_t count = 0;
    for (expression const* const tensor : tensors)
        count += tensor->pieces.size();
    return count;
}

/// Joins the tensors along `axis`.
///
/// \pre `check_operands` accepts the tensors
constexpr expression joined(std::span<expression const* const> tensors, std::size_t axis) {
    expression const& first = *tensors.front();
    expression result{first.shape, first.dtype, piece_list(first.ndim())};
    result.shape[axis] = 0;
    result.pieces.reserve(piece_count(tensors));
    for (expression const* const operand : tensors) {
        index_t const index = result.shape[axis];
        result.shape[axis] = checked_add(index, operand->shape[axis]);
        result.pieces.append_moved(operand->pieces, axis, index);
    }
    element_count(result.shape);
    return result;
}

} // namespace detail

/// Joins tensors along `axis`, in order; errors name operand number `k` by `name_of(k)`.
///
/// \pre        no pointer is null
/// \par Shape  the extents along `axis` are added; all other extents of the operands are equal
/// \throws     error with errc::shape_mismatch without operands, for an axis that does not
///             exist, or if extents differ along another axis; errc::dtype_mismatch for operands of
///             two data types; errc::overflow if the result has too many elements
/// \par Source the concat statement of AOA (PaddlePaddle flex_checkpoint), which compares neither
///             the other extents nor the numbers of axes, and so loses rows
template <std::invocable<std::size_t> NameOf>
constexpr expression concat(std::span<expression const* const> tensors, std::size_t axis,
                            NameOf const& name_of) {
    if (tensors.empty())
        fail(errc::shape_mismatch, "concat needs at least one tensor");
    detail::check_axis(*tensors.front(), axis);
    detail::check_operands(tensors, axis, name_of);
    return detail::joined(tensors, axis);
}

/// The same for tensors without names: errors give their numbers.
constexpr expression concat(std::span<expression const* const> tensors, std::size_t axis) {
    return concat(tensors, axis, detail::operand);
}

/// The same for tensors in a contiguous list.
constexpr expression concat(std::span<expression const> tensors, std::size_t axis) {
    vector<expression const*> operands;
    for (expression const& tensor : tensors)
        operands.push_back(&tensor);
    return concat(operands, axis);
}

/// The same for operands in braces.
constexpr expression concat(std::initializer_list<expression> tensors, std::size_t axis) {
    return concat(std::span<expression const>(tensors.begin(), tensors.size()), axis);
}

/// The same with keys for error messages: `concat({q, k}, 0, {"q", "k"})`.
///
/// \pre `keys.size() == tensors.size()`
constexpr expression concat(std::initializer_list<expression> tensors, std::size_t axis,
                            std::initializer_list<std::string_view> keys) {
    BOOST_ASSERT(keys.size() == tensors.size());
    vector<expression const*> operands;
    for (expression const& tensor : tensors)
        operands.push_back(&tensor);
    return concat(operands, axis,
                  [&](std::size_t k) { return "'" + std::string(keys.begin()[k]) + "'"; });
}

} // namespace reshard

#endif
