// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_OBJECT_CELL_HPP
#define RESHARD_LAYOUT_OBJECT_CELL_HPP

#include <reshard/layout/descriptor.hpp>

#include <cstddef>
#include <string>

/// \file
/// Objects that are no tensors, as the cells of an array: a generator's state for each rank.

namespace reshard {

/// One place of an array of objects. What an object is, is the caller's affair: here it is bytes.
///
/// \par Source `ShardedObject` of Megatron-Core
struct object_cell {
    std::string key;
    index_vector array; ///< the shape of the array
    index_vector index;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.array, self.index);
    }

    bool operator==(object_cell const&) const = default;
};

/// `'rng' [1] of [4]`.
inline std::string to_string(object_cell const& cell) {
    return "'" + cell.key + "' " + to_string(cell.index) + " of " + to_string(cell.array);
}

/// Refuses a cell that its array does not have.
///
/// \throws error with errc::bad_layout, or errc::overflow for an array of more than 2^63 - 1 cells; it
///         names the key
inline void check(object_cell const& cell) {
    if (cell.key.empty())
        fail(errc::bad_layout,
             "an object in an array of shape " + to_string(cell.array) + " has no key");
    if (cell.index.size() != cell.array.size())
        fail(errc::bad_layout, "'" + cell.key + "': the index " + to_string(cell.index) +
                                   " does not have the axes of an array of shape " +
                                   to_string(cell.array));
    for (std::size_t axis = 0; axis < cell.array.size(); ++axis)
        if (cell.index[axis] < 0 || cell.index[axis] >= cell.array[axis])
            fail(errc::bad_layout, "'" + cell.key + "': axis " + std::to_string(axis) +
                                       ": an array of extent " + std::to_string(cell.array[axis]) +
                                       " has no index " + std::to_string(cell.index[axis]));
    check_count(cell.key, cell.array);
}

namespace detail {

/// `1.0`.
inline std::string dotted(index_vector const& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        text += (i ? "." : "") + std::to_string(numbers[i]);
    return text;
}

} // namespace detail

/// The key under which a checkpoint has the bytes of a cell, as a tensor of U8 with one axis:
/// `rng/shard_1_4`, with dots between the numbers of several axes.
inline std::string tensor_key(object_cell const& cell) {
    return cell.key + "/shard_" + detail::dotted(cell.index) + "_" + detail::dotted(cell.array);
}

} // namespace reshard

#endif
