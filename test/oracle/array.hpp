// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_ARRAY_HPP
#define RESHARD_TEST_ORACLE_ARRAY_HPP

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

/// \file
/// Whole arrays, and the effect of a statement on them: element by element, nothing clever.

namespace reshard::oracle {

using namespace reshard::detail;

using numbers = std::vector<std::int64_t>;

/// A tensor as all its elements, row by row; the elements are integers for any data type.
struct array {
    numbers shape;
    std::string dtype;
    numbers values;

    bool operator==(array const&) const = default;
};

inline std::int64_t count_of(numbers const& shape) {
    std::int64_t count = 1;
    for (std::int64_t const extent : shape)
        count *= extent;
    return count;
}

/// The row-major number of the element at `index`.
inline std::size_t place_of(numbers const& index, numbers const& shape) {
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        position = position * shape[axis] + index[axis];
    return static_cast<std::size_t>(position);
}

/// Calls `visit(index)` for every index of an array of that shape, row by row.
template <class Visit>
void for_each_index(numbers const& shape, Visit&& visit) {
    numbers index(shape.size(), 0);
    for (std::int64_t left = count_of(shape); left > 0; --left) {
        visit(static_cast<numbers const&>(index));
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            if (++index[axis] < shape[axis])
                break;
            index[axis] = 0;
        }
    }
}

/// The array of that shape whose element at `index` is `element(index)`.
template <class Element>
array make_array(numbers const& shape, std::string const& dtype, Element&& element) {
    array result{shape, dtype, {}};
    for_each_index(shape, [&](numbers const& index) { result.values.push_back(element(index)); });
    return result;
}

inline std::int64_t at(array const& from, numbers const& index) {
    return from.values[place_of(index, from.shape)];
}

/// Axis `j` of the result is axis `order[j]` of `from`.
inline array permuted(array const& from, numbers const& order) {
    numbers shape;
    for (std::int64_t const axis : order)
        shape.push_back(from.shape.at(static_cast<std::size_t>(axis)));
    return make_array(shape, from.dtype, [&](numbers const& index) {
        numbers old(index.size(), 0);
        for (std::size_t j = 0; j < order.size(); ++j)
            old[static_cast<std::size_t>(order[j])] = index[j];
        return at(from, old);
    });
}

/// All axes in reverse.
inline array reversed(array const& from) {
    numbers order;
    for (std::size_t axis = from.shape.size(); axis-- > 0;)
        order.push_back(static_cast<std::int64_t>(axis));
    return permuted(from, order);
}

/// The box of `shape` at `offset`.
inline array box_of(array const& from, numbers const& offset, numbers const& shape) {
    return make_array(shape, from.dtype, [&](numbers index) {
        for (std::size_t axis = 0; axis < index.size(); ++axis)
            index[axis] += offset[axis];
        return at(from, index);
    });
}

/// The rows `[first, first + count)` along `axis`.
inline array rows_of(array const& from, std::size_t axis, std::int64_t first, std::int64_t count) {
    numbers offset(from.shape.size(), 0);
    numbers shape = from.shape;
    offset.at(axis) = first;
    shape[axis] = count;
    return box_of(from, offset, shape);
}

/// One after the other along `axis`.
inline array joined(std::vector<array> const& parts, std::size_t axis) {
    numbers shape = parts.at(0).shape;
    for (std::size_t i = 1; i < parts.size(); ++i)
        shape.at(axis) += parts[i].shape.at(axis);
    return make_array(shape, parts[0].dtype, [&](numbers index) {
        std::size_t part = 0;
        for (; index[axis] >= parts[part].shape[axis]; ++part)
            index[axis] -= parts[part].shape[axis];
        return at(parts[part], index);
    });
}

/// Parts of those sizes along `axis`, in order.
inline std::vector<array> cut(array const& from, std::size_t axis, numbers const& sizes) {
    std::vector<array> parts;
    std::int64_t first = 0;
    for (std::int64_t const size : sizes) {
        parts.push_back(rows_of(from, axis, first, size));
        first += size;
    }
    if (first != from.shape.at(axis))
        throw std::logic_error("the oracle is asked for a cut that does not fit");
    return parts;
}

/// Equal parts along `axis`, in order.
inline std::vector<array> cut_evenly(array const& from, std::size_t axis, std::int64_t parts) {
    return cut(from, axis, numbers(static_cast<std::size_t>(parts), from.shape.at(axis) / parts));
}

} // namespace reshard::oracle

#endif
