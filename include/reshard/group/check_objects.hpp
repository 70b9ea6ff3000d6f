// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_CHECK_OBJECTS_HPP
#define RESHARD_GROUP_CHECK_OBJECTS_HPP

#include <reshard/core/hasher.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/object_cell.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Does every cell of every array of objects have one content?

namespace reshard {

/// A cell and what is in it.
struct held_object {
    object_cell cell;
    std::string_view bytes;
};

namespace detail {

/// A cell as some rank has it; of the content only the digest is known.
struct object_copy {
    object_cell cell;
    index_t number = 0; ///< row-major, in the array
    std::uint64_t bytes = 0;
    std::uint64_t digest = 0;
    std::size_t rank = 0;

    /// What its rank tells.
    static constexpr void members(auto& self, auto&& visit) {
        visit(self.cell, self.bytes, self.digest);
    }
};

/// What this rank has.
inline std::vector<object_copy> copies_of(std::vector<held_object> const& objects) {
    std::vector<object_copy> copies;
    for (held_object const& object : objects) {
        hasher digest;
        digest.add(object.bytes);
        copies.push_back({object.cell, 0, object.bytes.size(), digest.value(), 0});
    }
    return copies;
}

/// What all ranks have, in one list.
inline std::vector<object_copy> joined(std::vector<std::vector<object_copy>> all) {
    std::vector<object_copy> copies;
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        for (object_copy& copy : all[rank]) {
            copy.number = ravel_index(copy.cell.index, copy.cell.array);
            copy.rank = rank;
            copies.push_back(std::move(copy));
        }
    return copies;
}

/// Refuses an array of which nobody has cell number `missing`; `some` is one that somebody has.
[[noreturn]] inline void fail_missing(object_cell const& some, index_t missing) {
    fail(errc::not_covered, "'" + some.key + "': no rank has the object " +
                                to_string(unravel_index(missing, some.array)) +
                                " of an array of shape " + to_string(some.array));
}

/// Compares two copies of one array that follow one another in the order of cells and ranks.
inline void compare_copies(object_copy const& one, object_copy const& next) {
    if (one.cell.array != next.cell.array)
        fail(errc::bad_layout, "'" + one.cell.key + "' is an array of shape " +
                                   to_string(one.cell.array) + " on rank " +
                                   std::to_string(one.rank) + " and " + to_string(next.cell.array) +
                                   " on rank " + std::to_string(next.rank));
    if (one.number == next.number && (one.bytes != next.bytes || one.digest != next.digest))
        fail(errc::overlap, to_string(one.cell) + " differs: it has " + std::to_string(one.bytes) +
                                " bytes on rank " + std::to_string(one.rank) + " and " +
                                std::to_string(next.bytes) +
                                (one.bytes == next.bytes ? " other bytes" : " bytes") +
                                " on rank " + std::to_string(next.rank));
    if (next.number > one.number + 1)
        fail_missing(one.cell, one.number + 1);
}

/// Checks the copies of all ranks: each array has all its cells, and equal cells equal content.
inline void check_copies(std::vector<object_copy> copies) {
    std::sort(copies.begin(), copies.end(), [](object_copy const& a, object_copy const& b) {
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

} // namespace detail

/// Refuses arrays of objects that lack a cell, and copies of a cell that differ.
///
/// Only digests travel.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `check` of cells; with errc::not_covered for a cell that nobody has, errc::overlap
///         for copies that differ, errc::bad_layout for one key that is two arrays, naming ranks,
///         errc::ranks_disagree where ranks do something else; on every rank alike
template <group Group>
void check_objects(Group const& world, std::vector<held_object> const& objects) {
    agree_to_run(world, "check_objects", 0, attempt([&] {
                     for (held_object const& object : objects)
                         check(object.cell);
                 }));
    detail::check_copies(detail::joined(gather_values(world, detail::copies_of(objects))));
}

} // namespace reshard

#endif
