// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_MAKE_PLAN_HPP
#define RESHARD_PLAN_MAKE_PLAN_HPP

#include <reshard/plan/givers.hpp>
#include <reshard/plan/make_patterns.hpp>
#include <reshard/plan/relay_finder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
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
                              giver_finder const& givers, relay_finder& relays)
        : problem_(problem), scope_(scope), givers_(givers), relays_(relays) {}

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
            auto const relayed = relays_.find(t, place);
            if (key_id const source = target.pieces->source(place.piece); source != zero_source)
                name_source(entry, source, relayed ? relayed->giver : givers_(patterns, t, i));
            if (relayed)
                add_relayed(entry, *relayed);
            else if (scope_.targets.contains(entry.target_holder) ||
                     (entry.source_holder != no_holder &&
                      scope_.sources.contains(entry.source_holder)))
                result_.transfers.push_back(entry);
        }
        name_inputs(cuts.geometry());
    }

    /// Adds a transfer, if one of those in the scope gets it, gives it or passes it on.
    constexpr void add_relayed(transfer const& entry, relay_place const& at) {
        relay_tree const& tree = relays_.tree(at.tree);
        std::uint32_t const parent = step_of(tree, at.place).parent;
        bool const is_sent = parent == relay_step::no_parent
                                 ? scope_.sources.contains(entry.source_holder)
                                 : scope_.targets.contains(tree.takers[parent]);
        if (!is_sent && !scope_.targets.contains(entry.target_holder))
            return;
        result_.relays.push_back({static_cast<std::uint32_t>(result_.transfers.size()),
                                  number_of(at.tree), at.place, relay::no_input});
        result_.transfers.push_back(entry);
    }

    /// The number in the plan of a tree that the finder has by another one.
    constexpr std::uint32_t number_of(std::uint32_t tree) {
        if (tree >= tree_numbers_.size())
            tree_numbers_.resize(tree + 1, relay_step::no_parent);
        if (tree_numbers_[tree] == relay_step::no_parent) {
            tree_numbers_[tree] = static_cast<std::uint32_t>(result_.trees.size());
            result_.trees.push_back(relays_.tree(tree));
        }
        return tree_numbers_[tree];
    }

    /// Names the transfers that bring what others of the tensor pass on: the same box, one place
    /// before in the same tree.
    constexpr void name_inputs(pattern const& cuts) {
        std::size_t const first = std::exchange(first_relay_, result_.relays.size());
        auto const box_of = [&](relay const& one) {
            std::uint32_t const cut = result_.transfers[one.transfer].cut;
            return std::tuple(one.tree, cuts.target_offset(cut));
        };
        auto const key = [&](relay const& one, std::uint32_t place) {
            return std::tuple_cat(box_of(one), std::tuple(place));
        };
        std::vector<std::uint32_t> order;
        for (std::size_t i = first; i < result_.relays.size(); ++i)
            order.push_back(static_cast<std::uint32_t>(i));
        std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            relay const &x = result_.relays[a], &y = result_.relays[b];
            return key(x, x.place) < key(y, y.place);
        });
        for (std::uint32_t const i : order) {
            relay& one = result_.relays[i];
            std::uint32_t const parent = step_of(result_.trees[one.tree], one.place).parent;
            if (parent == relay_step::no_parent)
                continue;
            auto const input = std::lower_bound(
                order.begin(), order.end(), key(one, parent), [&](std::uint32_t a, auto const& b) {
                    return key(result_.relays[a], result_.relays[a].place) < b;
                });
            if (input != order.end() &&
                key(result_.relays[*input], result_.relays[*input].place) == key(one, parent))
                one.input = result_.relays[*input].transfer;
        }
    }

    constexpr void name_source(transfer& entry, key_id source, shard_part chosen) const {
        entry.source_key = source;
        entry.source_shard = chosen.shard;
        entry.source_part = chosen.part;
        entry.source_holder = problem_.sources[source].shards.holder(chosen.shard);
    }

    plan_problem const& problem_;
    plan_scope const& scope_;
    giver_finder const& givers_;
    relay_finder& relays_;
    std::vector<std::uint32_t> tree_numbers_; ///< by number of the finder
    std::size_t first_relay_ = 0;             ///< of the tensor
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
    detail::relay_finder relays(problem, options, sources, targets, turns);
    return detail::transfer_lister(problem, scope, givers, relays)
        .list(detail::find_patterns(problem, scope, options, sources, targets, is_balanced));
}

} // namespace reshard

#endif
