// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_STRIDES_HPP
#define RESHARD_CORE_STRIDES_HPP

#include <reshard/core/index_vector.hpp>

#include <boost/assert.hpp>

#include <cstddef>

/// \file
/// Conversion between an index and a place in memory.

namespace reshard {

/// Strides in which the last axis runs fastest ("C order"); all 1 where there is no element.
///
/// \par Units   elements
/// \throws      error with errc::overflow when the strides do not fit 64 bits
constexpr index_vector row_major_strides(index_vector const& shape) {
    index_vector strides = index_vector::filled(shape.size(), 1);
    if (element_count(shape) == 0)
        return strides;
    for (std::size_t axis = shape.size(); axis-- > 1;)
        strides[axis - 1] = detail::checked_multiply(strides[axis], shape[axis]);
    return strides;
}

namespace detail {

/// Strides in which the first axis runs fastest ("Fortran order"); all 1 where there is no element.
///
/// \par Units   elements
/// \throws      error with errc::overflow when the strides do not fit 64 bits
constexpr index_vector column_major_strides(index_vector const& shape) {
    index_vector strides = index_vector::filled(shape.size(), 1);
    if (element_count(shape) == 0)
        return strides;
    for (std::size_t axis = 1; axis < shape.size(); ++axis)
        strides[axis] = checked_multiply(strides[axis - 1], shape[axis - 1]);
    return strides;
}

/// The distance, in elements, from the first element to the one at `index`.
///
/// \pre `index.size() == strides.size()`
constexpr index_t linear_offset(index_vector const& index, index_vector const& strides) {
    BOOST_ASSERT(index.size() == strides.size());
    index_t position = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
        position += index[axis] * strides[axis];
    return position;
}

/// The row-major number of the element at `index`.
///
/// \pre    `index.size() == shape.size()`
/// \throws error with errc::overflow when the strides do not fit 64 bits
constexpr index_t ravel_index(index_vector const& index, index_vector const& shape) {
    return linear_offset(index, row_major_strides(shape));
}

/// The index of the element whose row-major number is `position`.
///
/// \pre  `0 <= position < element_count(shape)`
/// \post `ravel_index(unravel_index(position, shape), shape) == position`
constexpr index_vector unravel_index(index_t position, index_vector const& shape) {
    BOOST_ASSERT(0 <= position && position < element_count(shape));
    index_vector index = index_vector::filled(shape.size(), 0);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        index[axis] = position % shape[axis];
        position /= shape[axis];
    }
    return index;
}

/// True where the elements lie one after the other in row-major order; strides of axes of extent 1
/// do not matter, nor any where there is no element.
///
/// \par Units strides in elements
/// \pre       `shape.size() == strides.size()`
constexpr bool is_row_major(index_vector const& shape, index_vector const& strides) {
    BOOST_ASSERT(shape.size() == strides.size());
    if (element_count(shape) == 0)
        return true;
    index_t expected = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] != 1 && strides[axis] != expected)
            return false;
        expected *= shape[axis];
    }
    return true;
}

} // namespace detail

} // namespace reshard

#endif
