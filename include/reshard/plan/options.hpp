// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_OPTIONS_HPP
#define RESHARD_PLAN_OPTIONS_HPP

#include <reshard/core/digest.hpp>
#include <reshard/core/members.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/shard_table.hpp>
#include <reshard/plan/network.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

/// \file
/// The holders for which a plan is made, and the choice among several holders that could send.

namespace reshard {

/// A set of holders: all holders, or the listed holders.
class holder_set {
public:
    /// All holders.
    constexpr holder_set() = default;

    constexpr holder_set(vector<holder_t> listed) : everybody_(false), listed_(std::move(listed)) {
        std::sort(listed_.begin(), listed_.end());
        listed_.erase(std::unique(listed_.begin(), listed_.end()), listed_.end());
    }

    static constexpr holder_set nobody() { return holder_set(vector<holder_t>{}); }

    constexpr bool is_everybody() const { return everybody_; }

    /// The listed holders, in order and distinct; empty if the set has all holders.
    constexpr vector<holder_t> const& listed() const { return listed_; }

    constexpr bool contains(holder_t holder) const {
        return everybody_ || std::binary_search(listed_.begin(), listed_.end(), holder);
    }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.everybody_, self.listed_);
    }

    constexpr bool operator==(holder_set const&) const = default;

private:
    bool everybody_ = true;
    vector<holder_t> listed_;
};

namespace detail {

template <>
inline constexpr stored_form form_of<holder_set>{"set of holders"};

} // namespace detail

/// \throws error with errc::bad_layout if a set of all holders has a list, or if a list is out of
///         order
constexpr void validate(holder_set const& some) {
    vector<holder_t> const& listed = some.listed();
    if (some.is_everybody() && !listed.empty())
        fail(errc::bad_layout, "it lists holders although it has all holders");
    if (std::adjacent_find(listed.begin(), listed.end(),
                           [](holder_t a, holder_t b) { return a >= b; }) != listed.end())
        fail(errc::bad_layout, "it lists holders out of order");
}

namespace detail {

/// A plan's scope: the holders whose transfers are wanted, as senders or as receivers.
struct plan_scope {
    holder_set sources;
    holder_set targets;

    /// Whether one of the two holders is in the scope; `no_holder` is in no scope.
    constexpr bool has_transfer(holder_t source, holder_t target) const {
        return targets.contains(target) || (source != no_holder && sources.contains(source));
    }

    static constexpr void members(auto& self, auto&& visit) { visit(self.sources, self.targets); }

    constexpr bool operator==(plan_scope const&) const = default;
};

template <>
inline constexpr stored_form form_of<plan_scope>{"scope of a plan", 5};

} // namespace detail

namespace detail {

/// How to choose a sender among several holders of the same elements. Before any of these choices,
/// a holder in the target's own process comes first, then holders on the target's node.
enum class sender_choice : std::uint8_t {
    in_turn,   ///< by turns of the target's shards
    by_target, ///< by turns of the target's ranks: each knows only its own shards
    balanced,  ///< least load for the busiest node link, then for the busiest sender
    relayed,   ///< in turn, once for all nodes: receivers pass elements on
    faster,    ///< relayed if that is faster over a network, otherwise balanced
};

template <>
inline constexpr enum_range range_of_enum<sender_choice>{5, "the choice of senders"};

struct node_steps;

/// How elements travel between nodes. `balanced_senders` and `relays` return values that differ
/// from the default.
struct node_traffic {
    sender_choice choice = sender_choice::in_turn;
    node_steps const* steps = nullptr; ///< set by the functions of `plan/between_nodes.hpp`
    network over = {};                 ///< the network over which relays may be faster

    constexpr bool has_relays() const {
        return choice == sender_choice::relayed || choice == sender_choice::faster;
    }

    static constexpr void members(auto& self, auto&& visit) { visit(self.choice, self.over); }

    constexpr bool operator==(node_traffic const& other) const {
        return choice == other.choice && over == other.over;
    }
};

/// The function of `plan/between_nodes.hpp` that makes this choice, for messages.
constexpr std::string_view name_of_choice(node_traffic const& traffic) {
    if (traffic.has_relays())
        return "relays()";
    return traffic.choice == sender_choice::balanced ? "balanced_senders()" : "none";
}

} // namespace detail

/// Assigns holders to processes, and processes to nodes.
struct plan_options {
    /// Process `h % processes` plays holder `h` of either side; 0: a separate process plays each.
    holder_t processes = 0;
    /// Every process can read every source holder, for example files that all processes can open.
    /// No process sends.
    bool shared_sources = false;
    /// Process `p` runs on node `p / processes_per_node`; 0: each process has a separate node.
    holder_t processes_per_node = 0;
    /// The choice of a sender for elements that several holders have. By default, they take turns.
    /// The other choices are `balanced_senders()` and `relays()` of `plan/between_nodes.hpp`. All
    /// processes that plan the same transfers need the same choice.
    detail::node_traffic between_nodes = {};

    constexpr holder_t process_of(holder_t holder) const {
        return processes == 0 ? holder : holder % processes;
    }

    constexpr holder_t node_of(holder_t holder) const {
        holder_t const process = process_of(holder);
        return processes_per_node == 0 ? process : process / processes_per_node;
    }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.processes, self.shared_sources, self.processes_per_node, self.between_nodes);
    }

    constexpr bool operator==(plan_options const&) const = default;
};

namespace detail {

template <>
inline constexpr stored_form form_of<plan_options>{"set of options", 7};

/// A budget without a limit.
inline constexpr index_t any_budget = std::numeric_limits<index_t>::max();

/// The index below `count` that has this turn. Among `count` successive turns, each index has one,
/// and the order then changes. So if a caller skips turns regularly, it does not always skip the
/// same index.
///
/// \pre `count > 0`
constexpr std::size_t in_turn(std::uint64_t turn, std::size_t count) {
    return static_cast<std::size_t>((turn + turn / count) % count);
}

/// The position of the holder that sends a box to `target`, among `count` holders of the box.
///
/// It is the first holder that the target's process plays. If there is none, the holders on the
/// target's node take turns, or else all holders. Sender and receiver get the same result.
/// `holder_at(i)` is the holder at position `i`.
///
/// \pre `count > 0`
constexpr std::size_t choose_replica(std::size_t count, auto&& holder_at, holder_t target,
                                     std::uint64_t turn, plan_options const& options) {
    if (count == 1 || options.shared_sources)
        return 0;
    std::size_t near = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (options.process_of(holder_at(i)) == options.process_of(target))
            return i;
        near += options.node_of(holder_at(i)) == options.node_of(target);
    }
    if (near == 0)
        return in_turn(turn, count);
    std::size_t remainder = in_turn(turn, near);
    for (std::size_t i = 0;; ++i)
        if (options.node_of(holder_at(i)) == options.node_of(target) && remainder-- == 0)
            return i;
}

} // namespace detail

} // namespace reshard

#endif
