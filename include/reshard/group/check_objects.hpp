// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_CHECK_OBJECTS_HPP
#define RESHARD_GROUP_CHECK_OBJECTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// Checks arrays of objects: every cell exists, and all copies of a cell have the same content.

namespace reshard {

namespace detail {

/// One cell of an array of objects. An object is any value that the caller stores; here it is
/// bytes.
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

/// As text: `'rng' [1] of [4]`.
inline std::string to_string(detail::object_cell const& cell) {
    return "'" + cell.key + "' " + to_string(cell.index) + " of " + to_string(cell.array);
}

namespace detail {

/// Throws if the index of a cell is not in its array.
///
/// \throws error with errc::bad_layout, or errc::overflow for an array of more than 2^63 - 1 cells;
///         the message names the key
RESHARD_DECL void check(object_cell const& cell);

/// Numbers separated by dots: `1.0`.
RESHARD_DECL std::string dotted(index_vector const& numbers);

/// The key of a cell in a checkpoint, such as `rng/shard_1_4`, with dots between the numbers of
/// several axes. The checkpoint stores its bytes as a tensor of U8 with one axis.
inline std::string tensor_key(object_cell const& cell) {
    return cell.key + "/shard_" + dotted(cell.index) + "_" + dotted(cell.array);
}

/// A cell and its content.
struct held_object {
    object_cell cell;
    std::string_view bytes;
};

/// A cell that a rank has, with the digest of its content.
struct object_copy {
    object_cell cell;
    index_t number = 0; ///< the row-major number of the cell in the array
    std::uint64_t bytes = 0;
    std::uint64_t digest = 0;
    std::size_t rank = 0;

    /// Lists the members that ranks exchange.
    static constexpr void members(auto& self, auto&& visit) {
        visit(self.cell, self.bytes, self.digest);
    }
};

/// The copies of cells that this rank has.
RESHARD_DECL vector<object_copy> copies_of(vector<held_object> const& objects);

/// Joins the copies of all ranks to one list.
RESHARD_DECL vector<object_copy> joined(vector<vector<object_copy>> copies);

/// Checks the copies of all ranks: each array must have all its cells, and copies of one cell must
/// have equal content.
RESHARD_DECL void check_copies(vector<object_copy> copies);

/// Throws if an array of objects lacks a cell, or if copies of a cell differ.
///
/// Ranks exchange only digests.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `check` of cells; with errc::not_covered for a cell that no rank has,
///         errc::overlap for copies that differ, errc::bad_layout for a key with two different
///         arrays; the messages name ranks; errc::ranks_disagree if ranks make different calls; on
///         every rank
void check_objects(group auto const& world, vector<held_object> const& objects) {
    agree_to_run(world, "check_objects", 0, attempt([&] {
                     for (held_object const& object : objects)
                         check(object.cell);
                 }));
    check_copies(joined(gather_values(world, copies_of(objects))));
}

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/check_objects.ipp>
#endif

#endif
