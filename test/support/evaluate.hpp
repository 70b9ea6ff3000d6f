// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_EVALUATE_HPP
#define RESHARD_TEST_SUPPORT_EVALUATE_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/expr/expression.hpp>

#include <vector>

/// \file
/// An expression as numbers, element by element: slow and plain.

namespace reshard::test {

using namespace reshard::detail;

/// Source tensors as numbers, in the order of their `key_id`s: all elements, row by row.
using tensor_numbers = std::vector<std::vector<index_t>>;

/// `offset` and `step`, which counts along factors: those of one axis are digits of one number.
inline index_vector moved(index_vector offset, index_vector const& step, index_vector const& extent,
                          unsigned joins) {
    for (std::size_t axis = offset.size(), factor = step.size(); axis-- > 0;) {
        index_t weight = 1;
        for (bool is_first = false; !is_first; weight *= extent[factor]) {
            offset[axis] += step[--factor] * weight;
            is_first = (joins >> factor & 1) == 0;
        }
    }
    return offset;
}

/// Which number each element of `value` is; -1 where no piece yields it, -2 where two do; casts aside.
inline std::vector<index_t> evaluate(expression const& value,
                                     std::vector<index_vector> const& source_shapes,
                                     tensor_numbers const& sources) {
    std::vector<index_t> result(static_cast<std::size_t>(element_count(value.shape)), -1);
    for (std::size_t i = 0; i < value.pieces.size(); ++i) {
        piece const part = value.pieces[i];
        for (index_t n = 0; n < element_count(part.extent); ++n) {
            index_vector const step = unravel_index(n, part.extent);
            index_vector const target =
                moved(part.target_offset, step, part.extent, part.joins.target);
            index_vector const source = moved(part.source_offset, part.order.undo(step),
                                              part.order.undo(part.extent), part.joins.source);
            auto& position = result[static_cast<std::size_t>(ravel_index(target, value.shape))];
            auto const from = static_cast<std::size_t>(
                part.source == zero_source ? 0 : ravel_index(source, source_shapes[part.source]));
            index_t const number = part.source == zero_source ? 0 : sources[part.source][from];
            position = position == -1 ? number : -2;
        }
    }
    return result;
}

} // namespace reshard::test

#endif
