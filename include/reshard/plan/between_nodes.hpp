// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_BETWEEN_NODES_HPP
#define RESHARD_PLAN_BETWEEN_NODES_HPP

#include <reshard/core/config.hpp>
#include <reshard/plan/options.hpp>

/// \file
/// Who sends what several ranks hold, or want: for `options::between_nodes`.

namespace reshard {

/// Of several ranks that hold the same elements, one sends them such that the busiest node link,
/// and then the busiest rank, sends as little as possible.
///
/// Worth its time if ranks hold replicas of tensors of different sizes. With more than 131,072
/// transfers, and for elements that are looked up in a directory, ranks take turns.
RESHARD_DECL detail::node_traffic balanced_senders();

/// Elements that several ranks on other nodes want leave their source once, and these ranks pass
/// them on chunk by chunk: a plan has the transfers that its ranks pass on as well. If several
/// ranks could send, they take turns. Not if all ranks are on one node, nor in rounds, nor for
/// elements that are looked up in a directory.
///
/// A load reads bytes of files that several nodes need on one rank of all, which passes them on:
/// faster if one rank sends more in a second than all nodes together read.
RESHARD_DECL detail::node_traffic relays();

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/between_nodes.ipp>
#endif

#endif
