// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_MAKE_PLAN_HPP
#define RESHARD_PLAN_MAKE_PLAN_HPP

#include <reshard/plan/make_patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Makes the transfers of some holders from two layouts and a mapping.

namespace reshard {

namespace detail {

/// Lists the transfers of each tensor from the pattern of its kind.
class transfer_lister {
public:
    constexpr transfer_lister(plan_problem const& problem, plan_scope const& scope,
                              given_cuts& cuts)
        : problem_(problem), scope_(scope), cuts_(cuts) {}

    constexpr plan list(pattern_plan patterns) {
        count(patterns);
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t)
            if (patterns.patterns[patterns.pattern_of[t]].size() > 0)
                list(t, patterns);
        result_.source_dtypes = std::move(patterns.source_dtypes);
        result_.target_dtypes = std::move(patterns.target_dtypes);
        result_.pattern_of = std::move(patterns.pattern_of);
        for (placed_pattern& cuts : patterns.patterns)
            result_.patterns.push_back(std::move(cuts).geometry());
        return std::move(result_);
    }

private:
    /// Reserves memory for about the largest possible number of transfers.
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
        std::size_t const first = result_.transfers.size(), first_relay = result_.relays.size();
        for (std::uint32_t i = 0; i < cuts.size(); ++i) {
            cut_place const& cut = cuts.place(i);
            transfer entry{.target_holder = target.shards.holder(cut.target_shard),
                           .target_key = t,
                           .target_shard = cut.target_shard,
                           .cut = i,
                           .target_part = cut.target_part,
                           .chain = chains[cut.piece]};
            auto const relayed = cuts_.find_relay(t, cut);
            if (key_id const source = target.pieces->source(cut.piece); source != zero_source)
                name_source(entry, source,
                            relayed ? relayed->sender : cuts_.senders(patterns, t, i));
            if (relayed)
                cuts_.relays->list(result_, entry, *relayed, scope_);
            else if (scope_.has_transfer(entry.source_holder, entry.target_holder))
                result_.transfers.push_back(entry);
        }
        if (result_.relays.size() > first_relay)
            cuts_.relays->sort(result_, first, first_relay, cuts.geometry());
    }

    constexpr void name_source(transfer& entry, key_id source, shard_part chosen) const {
        entry.source_key = source;
        entry.source_shard = chosen.shard;
        entry.source_part = chosen.part;
        entry.source_holder = problem_.sources[source].shards.holder(chosen.shard);
    }

    plan_problem const& problem_;
    plan_scope const& scope_;
    given_cuts& cuts_;
    plan result_;
};

} // namespace detail

/// The transfers of the holders in `scope`, listed for each tensor.
///
/// \par Units  elements; `bytes` only through `wire_bytes`
/// \post       `verify` finds nothing; the plan does not depend on the order of keys. The order of
///             a rank's shards affects at most the choice among several replicas
/// \throws     error with errc::not_covered if nobody holds elements of a wanted shard, with
///             errc::overlap if source shards share elements without being replicas
/// \par Source Flex Checkpoint makes read items from all pairs of boxes; job G of bench/jobs.hpp
///             has 217 million pairs and 955,228 transfers
constexpr plan make_plan(detail::plan_problem const& problem, detail::plan_scope const& scope = {},
                         plan_options const& options = {}) {
    detail::given_cuts cuts(problem, scope, options);
    return detail::transfer_lister(problem, scope, cuts).list(std::move(cuts.patterns));
}

} // namespace reshard

#endif
