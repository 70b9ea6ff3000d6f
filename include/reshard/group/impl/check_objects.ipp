// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_CHECK_OBJECTS_IPP
#define RESHARD_GROUP_IMPL_CHECK_OBJECTS_IPP

#include <reshard/group/check_objects.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/layout/descriptor.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void check(object_cell const& cell) {
    if (cell.key.empty())
        fail(errc::bad_layout, "an object in an array of shape ", cell.array, " has no key");
    if (cell.index.size() != cell.array.size())
        fail(errc::bad_layout, "'", cell.key, "': the index ", cell.index,
             " has another number of axes than an array of shape ", cell.array);
    for (std::size_t axis = 0; axis < cell.array.size(); ++axis)
        if (cell.index[axis] < 0 || cell.index[axis] >= cell.array[axis])
            fail(errc::bad_layout, "'", cell.key, "': axis ", axis, ": an array of extent ",
                 cell.array[axis], " has no index ", cell.index[axis]);
    check_count(cell.key, cell.array);
}

RESHARD_DECL std::string dotted(index_vector const& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        text += (i ? "." : "") + std::to_string(numbers[i]);
    return text;
}

RESHARD_DECL vector<object_copy> copies_of(vector<held_object> const& objects) {
    vector<object_copy> copies;
    for (held_object const& object : objects)
        copies.push_back({object.cell, 0, object.bytes.size(), digest_of_all(object.bytes), 0});
    return copies;
}

RESHARD_DECL vector<object_copy> joined(vector<vector<object_copy>> object_copies) {
    vector<object_copy> copies;
    for (std::size_t rank = 0; rank < object_copies.size(); ++rank)
        for (object_copy& copy : object_copies[rank]) {
            copy.number = ravel_index(copy.cell.index, copy.cell.array);
            copy.rank = rank;
            copies.push_back(std::move(copy));
        }
    return copies;
}

/// Throws because no rank has cell number `missing` of an array; `some` is another cell of that
/// array.
[[noreturn]] inline void fail_missing(object_cell const& some, index_t missing) {
    fail(errc::not_covered, "'", some.key, "': no rank has the object ",
         unravel_index(missing, some.array), " of an array of shape ", some.array);
}

/// Compares two copies of one array that are neighbours in the order of cells and ranks.
inline void compare_copies(object_copy const& copy, object_copy const& next) {
    if (copy.cell.array != next.cell.array)
        fail(errc::bad_layout, "'", copy.cell.key, "' is an array of shape ", copy.cell.array,
             " on rank ", copy.rank, " and ", next.cell.array, " on rank ", next.rank);
    if (copy.number == next.number && (copy.bytes != next.bytes || copy.digest != next.digest))
        fail(errc::overlap, to_string(copy.cell), " differs: it has ", counted(copy.bytes, "byte"),
             " on rank ", copy.rank, " and ",
             counted(next.bytes, copy.bytes == next.bytes ? "different byte" : "byte"), " on rank ",
             next.rank);
    if (next.number > copy.number + 1)
        fail_missing(copy.cell, copy.number + 1);
}

RESHARD_DECL void check_copies(vector<object_copy> copies) {
    sort_by(copies, [](object_copy const& a, object_copy const& b) {
        return std::tie(a.cell.key, a.number, a.rank) < std::tie(b.cell.key, b.number, b.rank);
    });
    for (std::size_t i = 0; i < copies.size(); ++i) {
        object_copy const& copy = copies[i];
        bool const is_first = i == 0 || copies[i - 1].cell.key != copy.cell.key;
        bool const is_last = i + 1 == copies.size() || copies[i + 1].cell.key != copy.cell.key;
        if (is_first && copy.number > 0)
            fail_missing(copy.cell, 0);
        if (!is_last)
            compare_copies(copy, copies[i + 1]);
        else if (copy.number + 1 < element_count(copy.cell.array))
            fail_missing(copy.cell, copy.number + 1);
    }
}

} // namespace reshard::detail

#endif
