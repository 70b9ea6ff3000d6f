// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_RELAYS_HPP
#define RESHARD_PLAN_RELAYS_HPP

#include <reshard/core/members.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/relay_trees.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

/// \file
/// How elements travel if several holders want them from one source: receivers may pass them on.

namespace reshard::detail {

/// The position of a receiver in its tree.
struct relay_step {
    static constexpr std::uint32_t no_parent = 0xffffffff; ///< the source sends to this receiver

    std::uint32_t parent = no_parent; ///< a position in the tree
    std::uint32_t depth = 0;          ///< the number of receivers before it on the way
    std::uint32_t last = 0;           ///< the end of the positions that get elements through it

    constexpr bool operator==(relay_step const&) const = default;
};

/// The number of positions in each branch of a receiver at `index`, whose positions end before
/// `last`. The last branch may have fewer positions.
constexpr std::uint32_t places_each(std::uint32_t index, std::uint32_t last,
                                    std::uint32_t branches) {
    return (last - index - 1 + branches - 1) / branches;
}

/// The step that brings elements to receiver `index` of `count`.
///
/// The receivers after a receiver are divided among its branches. Each branch gets a range of
/// neighbours, so that few transfers go from node to node.
///
/// \pre `index < count` and `0 < branches <= count`
constexpr relay_step step_of(std::uint32_t index, std::uint32_t count, std::uint32_t branches) {
    BOOST_ASSERT(index < count && 0 < branches && branches <= count);
    if (branches == 1)
        return index == 0 ? relay_step{relay_step::no_parent, 0, count}
                          : relay_step{index - 1, index, count};
    relay_step step{relay_step::no_parent, 0, count};
    for (std::uint32_t at = 0; at != index;) {
        std::uint32_t const each = places_each(at, step.last, branches);
        step.parent = at;
        at += 1 + (index - at - 1) / each * each;
        step.last = std::min(at + each, step.last);
        ++step.depth;
    }
    return step;
}

/// The number of branches with which `count` receivers have all chunks soonest, if each receiver
/// sends one chunk at a time: one (a chain) for many chunks, two for few chunks.
///
/// \param chunks the chunks of all tensors for a holder: one tree brings most of them
constexpr std::uint32_t branches_for(std::size_t count, std::size_t chunks) {
    std::size_t levels = 0;
    while (count >> levels > 1)
        ++levels;
    // In a chain of n receivers, the last of c chunks arrives after c + n - 1 turns; with two
    // branches, it arrives after 2 (c + levels) - 1 turns.
    return count <= std::max<std::size_t>(chunks, 1) + 2 * levels ? 1 : 2;
}

/// Marks a transfer as part of a tree.
struct relay {
    static constexpr std::uint32_t no_input = 0xffffffff;

    std::uint32_t transfer = 0;
    std::uint32_t tree = 0;
    std::uint32_t position = 0; ///< of the target holder in the tree
    /// The number of the transfer's box among the distinct boxes of the target's shards: a holder
    /// may want two boxes with the same first element.
    std::uint32_t box = 0;
    /// The transfer that brings the elements to the rank that passes them on. `no_input` if the
    /// source sends them, or if the plan is for other ranks.
    std::uint32_t input = no_input;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.transfer, self.tree, self.position, self.box, self.input);
    }

    /// Whether a receiver, not the source, sends the transfer.
    constexpr bool is_passed_on() const { return position > 0; }

    constexpr bool operator==(relay const&) const = default;
};

constexpr relay_step step_of(relay_tree const& tree, std::uint32_t index) {
    return step_of(index, tree.receivers.size(), tree.branches);
}

/// The sender to the receiver at a position.
constexpr holder_t sender_of(relay_tree const& tree, std::uint32_t index) {
    return index == 0 ? tree.source : tree.receivers[step_of(tree, index).parent];
}

/// Calls `visit(child)` for each position to which receiver `index` of `count` passes elements.
///
/// \pre `index < count` and `0 < branches <= count`
constexpr void for_each_child(std::uint32_t index, std::uint32_t count, std::uint32_t branches,
                              auto&& visit) {
    std::uint32_t const last = step_of(index, count, branches).last;
    std::uint32_t const each = places_each(index, last, branches);
    for (std::uint32_t child = index + 1; child < last; child += each)
        visit(child);
}

constexpr void for_each_child(relay_tree const& tree, std::uint32_t index, auto&& visit) {
    for_each_child(index, tree.receivers.size(), tree.branches, visit);
}

/// The relay of a transfer, or null.
///
/// \pre `relays` are sorted by transfer
constexpr relay const* find_relay(std::span<relay const> relays, std::uint32_t transfer) {
    auto const at =
        std::lower_bound(relays.begin(), relays.end(), transfer,
                         [](relay const& a, std::uint32_t b) { return a.transfer < b; });
    return at != relays.end() && at->transfer == transfer ? &*at : nullptr;
}

} // namespace reshard::detail

#endif
