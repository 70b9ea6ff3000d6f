// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_OBJECT_CELL_IPP
#define RESHARD_LAYOUT_IMPL_OBJECT_CELL_IPP

#include <reshard/layout/object_cell.hpp>

#include <reshard/layout/descriptor.hpp>

#include <cstddef>

namespace reshard::detail {

RESHARD_DECL void check(object_cell const& cell) {
    if (cell.key.empty())
        fail(errc::bad_layout,
             "an object in an array of shape " + to_string(cell.array) + " has no key");
    if (cell.index.size() != cell.array.size())
        fail(errc::bad_layout, "'" + cell.key + "': the index " + to_string(cell.index) +
                                   " has another number of axes than an array of shape " +
                                   to_string(cell.array));
    for (std::size_t axis = 0; axis < cell.array.size(); ++axis)
        if (cell.index[axis] < 0 || cell.index[axis] >= cell.array[axis])
            fail(errc::bad_layout, "'" + cell.key + "': axis " + std::to_string(axis) +
                                       ": an array of extent " + std::to_string(cell.array[axis]) +
                                       " has no index " + std::to_string(cell.index[axis]));
    check_count(cell.key, cell.array);
}

RESHARD_DECL std::string dotted(index_vector const& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        text += (i ? "." : "") + std::to_string(numbers[i]);
    return text;
}

} // namespace reshard::detail

#endif
