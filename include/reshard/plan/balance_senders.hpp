// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_BALANCE_SENDERS_HPP
#define RESHARD_PLAN_BALANCE_SENDERS_HPP

#include <reshard/core/config.hpp>
#include <reshard/plan/pattern_plan.hpp>
#include <reshard/plan/source_indices.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

/// \file
/// Chooses the senders, so that the busiest carries as little as possible.

namespace reshard::detail {

/// The most transfers of a plan whose senders are balanced: of more, replicas take turns, which
/// is as good if layouts are regular, and needs no knowledge of the other ranks' targets.
inline constexpr std::size_t most_balanced_transfers = std::size_t{1} << 17;

/// True if there is something to balance, the same on every process. A plan that is a constant is
/// not balanced.
constexpr bool can_balance(plan_problem const& problem, plan_options const& options,
                           source_indices const& sources) {
    if (std::is_constant_evaluated() || options.shared_sources || options.relays ||
        options.replicas != replica_choice::balanced || !sources.have_replicas())
        return false;
    std::size_t transfers = 0;
    for (target_side const& target : problem.targets)
        for (std::size_t i = 0; target.shards && !target.added && i < target.pieces->size(); ++i)
            if (key_id const source = target.pieces->source(i); source != zero_source)
                transfers += std::max(target.shards.size(), sources.of(source).size());
    return transfers <= most_balanced_transfers;
}

/// Chooses the sender of each cut, and writes it into the patterns of all transfers.
///
/// Whole cuts are dealt out to the senders with the least to send; if that leaves the busiest
/// sender or node link too far from its least load, a fractional division says who sends how much,
/// and cuts that one alone should not send are cut again.
RESHARD_DECL void balance_senders(plan_problem const& problem, plan_options const& options,
                                  source_indices const& sources, shard_kinds const& targets,
                                  pattern_plan& patterns);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/balance_senders.ipp>
#endif

#endif
