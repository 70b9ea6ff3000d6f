// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_RELAY_TREES_HPP
#define RESHARD_TEST_SUPPORT_RELAY_TREES_HPP

#include <reshard/plan/relay_trees.hpp>

#include <cstdint>
#include <vector>

/// \file
/// Trees of relays with their receivers written out.

namespace reshard::test {

using namespace reshard::detail;

struct written_tree {
    holder_t source = 0;
    std::vector<holder_t> receivers;
    std::uint32_t branches = 1;

    bool operator==(written_tree const&) const = default;
};

inline std::vector<written_tree> written(relay_trees const& trees) {
    std::vector<written_tree> written_trees;
    for (std::size_t i = 0; i < trees.size(); ++i) {
        relay_tree const tree = trees[i];
        written_trees.push_back({tree.source, {}, tree.branches});
        for (std::uint32_t index = 0; index < tree.receivers.size(); ++index)
            written_trees.back().receivers.push_back(tree.receivers[index]);
    }
    return written_trees;
}

/// One tree, whose receivers are all of its list.
inline relay_trees tree_of(written_tree const& tree) {
    auto const size = static_cast<std::uint32_t>(tree.receivers.size());
    return {{tree.receivers}, {{tree.source, 0, size, tree.branches, {{0, 0}}}}};
}

} // namespace reshard::test

#endif
