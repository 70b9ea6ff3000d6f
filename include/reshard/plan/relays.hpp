// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_RELAYS_HPP
#define RESHARD_PLAN_RELAYS_HPP

#include <reshard/core/members.hpp>
#include <reshard/layout/holder.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Who passes on what: the way of elements that several holders want from one.

namespace reshard::detail {

/// Holders that want the same elements from one source. The first gets them from the source, and
/// each of the others from one before it, which passes on what has arrived.
struct relay_tree {
    holder_t source = 0;
    std::vector<holder_t> takers; ///< holders of the target, those of a node one behind the other
    std::uint32_t branches = 1;   ///< the most that a taker passes to; 1: the tree is a chain

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.source, self.takers, self.branches);
    }

    constexpr auto operator<=>(relay_tree const&) const = default;
};

/// Where a taker stands in its tree.
struct relay_step {
    static constexpr std::uint32_t no_parent = 0xffffffff; ///< it gets from the source

    std::uint32_t parent = no_parent; ///< a place in the tree
    std::uint32_t depth = 0;          ///< how often elements were passed on before

    constexpr bool operator==(relay_step const&) const = default;
};

/// From whom taker `place` of `count` gets.
///
/// What is behind a taker is divided among its branches, one range of neighbours each, so that few
/// ways lead from node to node.
///
/// \pre `place < count` and `branches > 0`
constexpr relay_step step_of(std::uint32_t place, std::uint32_t count, std::uint32_t branches) {
    BOOST_ASSERT(place < count && branches > 0);
    if (place == 0)
        return {};
    if (branches == 1)
        return {place - 1, place};
    relay_step step{0, 1};
    std::uint32_t first = 0, last = count; // those below the parent, and the parent itself
    for (;;) {
        std::uint32_t const each = (last - first - 1 + branches - 1) / branches;
        std::uint32_t const child = first + 1 + (place - first - 1) / each * each;
        step.parent = first;
        if (child == place)
            return step;
        first = child;
        last = std::min(child + each, last);
        ++step.depth;
    }
}

/// The number of branches with which `count` takers have all chunks soonest, where each passes on
/// one chunk after the other: of many chunks a chain, of few two branches.
constexpr std::uint32_t branches_for(std::size_t count, std::size_t chunks) {
    std::size_t levels = 0;
    while (count >> levels > 1)
        ++levels;
    // The last of c chunks is through in c + n - 1 turns, with two branches in 2 (c + levels) - 1.
    return count <= std::max<std::size_t>(chunks, 1) + 2 * levels ? 1 : 2;
}

/// That a transfer is part of a tree.
struct relay {
    static constexpr std::uint32_t no_input = 0xffffffff;

    std::uint32_t transfer = 0;
    std::uint32_t tree = 0;
    std::uint32_t place = 0; ///< of its target holder
    /// The transfer that brings the elements to who passes them on; none where the source gives
    /// them, or the plan is of others.
    std::uint32_t input = no_input;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.transfer, self.tree, self.place, self.input);
    }

    constexpr bool operator==(relay const&) const = default;
};

constexpr relay_step step_of(relay_tree const& tree, std::uint32_t place) {
    return step_of(place, static_cast<std::uint32_t>(tree.takers.size()), tree.branches);
}

/// The relay of a transfer, or null.
///
/// \pre `relays` are sorted by transfer
constexpr relay const* find_relay(std::vector<relay> const& relays, std::uint32_t transfer) {
    auto const at =
        std::lower_bound(relays.begin(), relays.end(), transfer,
                         [](relay const& a, std::uint32_t b) { return a.transfer < b; });
    return at != relays.end() && at->transfer == transfer ? &*at : nullptr;
}

} // namespace reshard::detail

#endif
