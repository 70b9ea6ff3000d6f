// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_ANY_GROUP_HPP
#define RESHARD_BRIDGE_ANY_GROUP_HPP

#include <reshard/group/solo.hpp>

#include <concepts>
#include <functional>
#include <string>
#include <vector>

/// \file
/// A group without its type: one compiled instance serves every group.

namespace reshard::detail {

/// A copy of any group, which gathers through it.
class any_group {
public:
    template <group Group>
        requires(!std::same_as<Group, any_group>)
    explicit any_group(Group const& some)
        : rank_(some.rank()),
          size_(some.size()),
          gather_([some](std::string const& bytes) { return some.all_gather(bytes); }) {}

    int rank() const { return rank_; }
    int size() const { return size_; }
    std::vector<std::string> all_gather(std::string const& bytes) const { return gather_(bytes); }

private:
    int rank_;
    int size_;
    std::function<std::vector<std::string>(std::string const&)> gather_;
};

static_assert(group<any_group>);

} // namespace reshard::detail

#endif
