// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_RELAY_TREES_HPP
#define RESHARD_TEST_SUPPORT_RELAY_TREES_HPP

#include <reshard/plan/relay_trees.hpp>

#include <cstdint>
#include <vector>

/// \file
/// Trees of relays with their takers written out.

namespace reshard::test {

using namespace reshard::detail;

struct written_tree {
    holder_t source = 0;
    std::vector<holder_t> takers;
    std::uint32_t branches = 1;

    bool operator==(written_tree const&) const = default;
};

inline std::vector<written_tree> written(relay_trees const& trees) {
    std::vector<written_tree> all;
    for (std::size_t i = 0; i < trees.size(); ++i) {
        relay_tree const tree = trees[i];
        all.push_back({tree.source, {}, tree.branches});
        for (std::uint32_t place = 0; place < tree.takers.size(); ++place)
            all.back().takers.push_back(tree.takers[place]);
    }
    return all;
}

/// One tree, whose takers are all of its list.
inline relay_trees tree_of(written_tree const& tree) {
    auto const size = static_cast<std::uint32_t>(tree.takers.size());
    return {{tree.takers}, {{tree.source, 0, size, tree.branches, {{0, 0}}}}};
}

} // namespace reshard::test

#endif
