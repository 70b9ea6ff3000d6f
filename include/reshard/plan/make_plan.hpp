// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_MAKE_PLAN_HPP
#define RESHARD_PLAN_MAKE_PLAN_HPP

#include <reshard/plan/givers.hpp>
#include <reshard/plan/make_patterns.hpp>

#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// From two layouts and a mapping to the transfers of some holders.

namespace reshard {

namespace detail {

/// Lists the transfers of each tensor from the pattern of its kind.
class transfer_lister {
public:
    constexpr transfer_lister(plan_problem const& problem, plan_scope const& scope,
                              giver_finder const& givers)
        : problem_(problem), scope_(scope), givers_(givers) {}

    constexpr plan list(pattern_plan patterns) {
        count(patterns);
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t)
            if (patterns.patterns[patterns.pattern_of[t]].size() > 0)
                list(t, patterns);
        result_.source_dtypes = std::move(patterns.source_dtypes);
        result_.target_dtypes = std::move(patterns.target_dtypes);
        result_.pattern_of = std::move(patterns.pattern_of);
        for (placed_pattern& one : patterns.patterns)
            result_.patterns.push_back(std::move(one).geometry());
        return std::move(result_);
    }

private:
    /// Makes room for the transfers that there will be at most, or nearly.
    constexpr void count(pattern_plan const& patterns) {
        std::size_t transfers = 0;
        for (std::uint32_t const which : patterns.pattern_of)
            transfers += patterns.patterns[which].size();
        result_.transfers.reserve(transfers);
    }

    constexpr void list(std::uint32_t t, pattern_plan const& patterns) {
        placed_pattern const& cuts = patterns.patterns[patterns.pattern_of[t]];
        target_side const& target = problem_.targets[t];
        std::vector<std::uint16_t> chains;
        for (std::size_t i = 0; i < target.pieces->size(); ++i)
            chains.push_back(chain_number(result_.chains, (*target.pieces)[i].casts));
        for (std::uint32_t i = 0; i < cuts.size(); ++i) {
            cut_place const& place = cuts.place(i);
            transfer entry{.target_holder = target.shards.holder(place.target_shard),
                           .target_key = t,
                           .target_shard = place.target_shard,
                           .cut = i,
                           .target_part = place.target_part,
                           .chain = chains[place.piece]};
            name_source(entry, target.pieces->source(place.piece), patterns);
            if (scope_.targets.contains(entry.target_holder) ||
                (entry.source_holder != no_holder && scope_.sources.contains(entry.source_holder)))
                result_.transfers.push_back(entry);
        }
    }

    constexpr void name_source(transfer& entry, key_id source, pattern_plan const& patterns) const {
        if (source == zero_source)
            return;
        shard_part const chosen = givers_(patterns, entry.target_key, entry.cut);
        entry.source_key = source;
        entry.source_shard = chosen.shard;
        entry.source_part = chosen.part;
        entry.source_holder = problem_.sources[source].shards.holder(chosen.shard);
    }

    plan_problem const& problem_;
    plan_scope const& scope_;
    giver_finder const& givers_;
    plan result_;
};

} // namespace detail

/// The transfers of the holders in `scope`: those of `make_patterns`, listed.
///
/// \par Units  elements; `bytes` only through `wire_bytes`
/// \post       `verify` finds nothing; the plan does not depend on the order of keys, and on that of
///             a rank's shards at most in which of several replicas gives
/// \throws     error with errc::not_covered where nobody holds elements of a wanted shard, with
///             errc::overlap where source shards share elements without being replicas
/// \par Source Flex Checkpoint makes read items from all pairs of boxes; job G of bench/jobs.hpp
///             has 217 million pairs and 955,228 transfers
constexpr plan make_plan(detail::plan_problem const& problem, detail::plan_scope const& scope = {},
                         plan_options const& options = {}) {
    detail::source_indices const sources(problem);
    detail::shard_kinds const targets(problem.targets);
    bool const is_balanced = detail::can_balance(problem, options, sources);
    detail::target_turns const turns(problem, options, sources, targets, !is_balanced);
    detail::giver_finder const givers(problem, options, sources, turns);
    return detail::transfer_lister(problem, scope, givers)
        .list(detail::find_patterns(problem, scope, options, sources, targets, is_balanced));
}

} // namespace reshard

#endif
