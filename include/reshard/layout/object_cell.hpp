// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_OBJECT_CELL_HPP
#define RESHARD_LAYOUT_OBJECT_CELL_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>

#include <string>

/// \file
/// Objects that are not tensors, as the cells of an array: a generator's state for each rank.

namespace reshard {

namespace detail {

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

} // namespace detail

/// `'rng' [1] of [4]`.
inline std::string to_string(detail::object_cell const& cell) {
    return "'" + cell.key + "' " + to_string(cell.index) + " of " + to_string(cell.array);
}

namespace detail {

/// Refuses a cell that its array does not have.
///
/// \throws error with errc::bad_layout, or errc::overflow for an array of more than 2^63 - 1 cells;
///         it names the key
RESHARD_DECL void check(object_cell const& cell);

/// `1.0`.
RESHARD_DECL std::string dotted(index_vector const& numbers);

/// The key under which a checkpoint has the bytes of a cell, as a tensor of U8 with one axis:
/// `rng/shard_1_4`, with dots between the numbers of several axes.
inline std::string tensor_key(object_cell const& cell) {
    return cell.key + "/shard_" + dotted(cell.index) + "_" + dotted(cell.array);
}

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/object_cell.ipp>
#endif

#endif
