// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_CAST_HPP
#define RESHARD_EXPR_CAST_HPP

#include <reshard/expr/expression.hpp>

#include <cstddef>

/// \file
/// The elements of a tensor in another data type.

namespace reshard {

/// The tensor with each element rounded to `dtype` (to nearest, ties to even; NaN stays NaN).
///
/// \throws     error with errc::dtype_mismatch between complex and real numbers, with
///             errc::limit_exceeded after more than 15 roundings in a row
/// \par Source the dtype attribute of AOA, which supports only float16, float32 and bfloat16
constexpr expression cast(expression const& tensor, data_type dtype) {
    detail::check_castable(tensor.dtype, dtype);
    expression result{tensor.shape, dtype, detail::piece_list(tensor.ndim())};
    result.pieces.reserve(tensor.pieces.size());
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i) {
        piece rounded = tensor.pieces[i];
        rounded.casts = detail::then(rounded.casts, rounded.stored, dtype);
        result.pieces.push_back(rounded);
    }
    return result;
}

} // namespace reshard

#endif
