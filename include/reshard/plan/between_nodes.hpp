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

/// If several ranks hold the same elements, chooses one of them to send these elements. The choice
/// keeps the load of the busiest node link, and then of the busiest rank, as small as possible.
///
/// This is worth its time if ranks hold replicas of tensors of different sizes. Ranks send in turns
/// if there are more than 131,072 transfers, or if elements are looked up in a directory.
RESHARD_DECL detail::node_traffic balanced_senders();

/// If several ranks on other nodes want the same elements, the source sends them once, and these
/// ranks pass them on chunk by chunk. A rank's plan also lists the transfers that the rank passes
/// on. If several ranks could send elements, they take turns. Ranks pass nothing on if all ranks
/// are on one node, if the job has rounds, or if elements are looked up in a directory.
///
/// A plan has relays only if they save its busiest link 5 % of the time, by the bytes of each link
/// over that network; otherwise its senders are balanced, as by `balanced_senders()`. The plan, not
/// the network, decides which ranks share a node. If a plan has more than 262,144 different
/// transfers, it has relays without a comparison.
///
/// In a load, one rank reads the bytes of files that several nodes need, and passes them on. This
/// is faster if one rank can send more bytes per second than the file system delivers to all nodes
/// together.
RESHARD_DECL detail::node_traffic relays(network const& over = {});

namespace detail {

/// The same, but without the comparison of times.
RESHARD_DECL node_traffic all_relays();

/// The time that the busiest link needs for all bytes of a plan.
///
/// \par Units seconds
struct relay_gain {
    double direct = 0;  ///< if senders of the same elements take turns
    double relayed = 0; ///< with relays

    /// Whether relays save at least 5 %.
    bool is_worth_it() const { return relayed < direct && relayed * 1.05 <= direct; }
};

/// Counts the bytes of each link without making a plan. Its time depends on the number of tensors
/// with different shards. The result is the same on every process.
RESHARD_DECL relay_gain gain_of_relays(plan_problem const& problem, plan_options const& options,
                                       network const& over);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/between_nodes.ipp>
#endif

#endif
