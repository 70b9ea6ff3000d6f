// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_BETWEEN_NODES_HPP
#define RESHARD_PLAN_BETWEEN_NODES_HPP

#include <reshard/core/config.hpp>
#include <reshard/plan/network.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/plan_problem.hpp>

/// \file
/// Chooses the senders of elements that several ranks hold or want: for `options::between_nodes`.

namespace reshard {

/// If several ranks hold the same elements, one of them sends them. It is chosen so that the
/// busiest node link, and then the busiest rank, sends as little as possible.
///
/// This is worth its time if ranks hold replicas of tensors of different sizes. With more than
/// 131,072 transfers, and for elements that are looked up in a directory, ranks take turns.
RESHARD_DECL detail::node_traffic balanced_senders();

/// If several ranks on other nodes want the same elements, the source sends them once, and these
/// ranks pass them on chunk by chunk. A plan also has the transfers that its ranks pass on. If
/// several ranks could send, they take turns. No elements are passed on if all ranks are on one
/// node, in rounds, or if elements are looked up in a directory.
///
/// A plan has relays only if its busiest link needs 5 % less time with them, by the bytes of each
/// link over that network; otherwise its senders are balanced, as by `balanced_senders()`. Nodes
/// are those of the plan, not of the network. A plan of more than 262,144 transfers that differ is
/// not compared: it has relays.
///
/// In a load, one rank reads the bytes of files that several nodes need, and passes them on. That
/// is faster if one rank sends more bytes per second than all nodes together read.
RESHARD_DECL detail::node_traffic relays(network const& over = {});

namespace detail {

/// The same, whether that is faster or not.
RESHARD_DECL node_traffic all_relays();

/// The time that the busiest link needs for all bytes of a plan.
///
/// \par Units seconds
struct relay_gain {
    double direct = 0;  ///< if senders of the same elements take turns
    double relayed = 0; ///< the same with relays

    /// True if relays need at least 5 % less.
    bool is_worth_it() const { return relayed < direct && relayed * 1.05 <= direct; }
};

/// Counts the bytes of each link, without a plan: the time depends on how many tensors differ in
/// their shards. The result is the same on every process.
RESHARD_DECL relay_gain gain_of_relays(plan_problem const& problem, plan_options const& options,
                                       network const& over);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/between_nodes.ipp>
#endif

#endif
