// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_GATHER_VALUES_HPP
#define RESHARD_GROUP_GATHER_VALUES_HPP

#include <reshard/group/bytes.hpp>
#include <reshard/group/group.hpp>

#include <string>
#include <vector>

/// \file
/// A value of every rank, on every rank.

namespace reshard::detail {

/// What the ranks call this with, in the order of ranks: numbers, lists, or values that list their
/// members.
///
/// \par Collective every rank of the group, in the same order
/// \throws error with errc::corrupt_file where a rank sends something else
template <class T, group Group>
std::vector<T> gather_values(Group const& world, T const& mine) {
    std::vector<T> values;
    for (std::string const& bytes : world.all_gather(content_bytes(mine)))
        values.push_back(content_from<T>(bytes, "value of another rank"));
    return values;
}

} // namespace reshard::detail

#endif
