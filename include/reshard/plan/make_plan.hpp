// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_MAKE_PLAN_HPP
#define RESHARD_PLAN_MAKE_PLAN_HPP

#include <reshard/core/sorting.hpp>
#include <reshard/plan/make_patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
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
                              given_cuts& cuts)
        : problem_(problem), scope_(scope), senders_(cuts.senders), relays_(cuts.relays) {}

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
    static constexpr std::uint32_t not_listed = 0xffffffff;

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
        std::size_t const first = result_.transfers.size(), first_relay = result_.relays.size();
        for (std::uint32_t i = 0; i < cuts.size(); ++i) {
            cut_place const& cut = cuts.place(i);
            transfer entry{.target_holder = target.shards.holder(cut.target_shard),
                           .target_key = t,
                           .target_shard = cut.target_shard,
                           .cut = i,
                           .target_part = cut.target_part,
                           .chain = chains[cut.piece]};
            auto const relayed = relays_.find(t, cut);
            if (key_id const source = target.pieces->source(cut.piece); source != zero_source)
                name_source(entry, source, relayed ? relayed->sender : senders_(patterns, t, i));
            if (relayed)
                list_relayed(entry, *relayed);
            else if (is_in_scope(entry.source_holder, entry.target_holder))
                result_.transfers.push_back(entry);
        }
        if (result_.relays.size() > first_relay)
            sort(first, first_relay, cuts.geometry());
    }

    constexpr bool is_in_scope(holder_t source, holder_t target) const {
        return scope_.targets.contains(target) ||
               (source != no_holder && scope_.sources.contains(source));
    }

    /// Lists a transfer of a tree, and the transfers by which receivers in the scope pass on its
    /// elements. One that such a receiver passes on is listed with that receiver's.
    constexpr void list_relayed(transfer entry, relay_place const& at) {
        relay_tree const tree = relays_.trees()[at.tree];
        bool const is_listed = at.is_passed_on()
                                   ? !scope_.targets.contains(sender_of(tree, at.position)) &&
                                         scope_.targets.contains(entry.target_holder)
                                   : is_in_scope(tree.source, entry.target_holder);
        if (!is_listed)
            return;
        std::vector<relay> next{{0, listed_tree(at.tree), at.position, at.box, relay::no_input}};
        while (!next.empty()) {
            relay step = next.back();
            next.pop_back();
            step.transfer = static_cast<std::uint32_t>(result_.transfers.size());
            shard_part const receiver = relays_.part_of(at, step.position);
            entry.target_holder = tree.receivers[step.position];
            entry.target_shard = receiver.shard;
            entry.target_part = receiver.part;
            result_.transfers.push_back(entry);
            result_.relays.push_back(step);
            if (scope_.targets.contains(entry.target_holder))
                for_each_child(tree, step.position, [&](std::uint32_t child) {
                    next.push_back({0, step.tree, child, step.box, step.transfer});
                });
        }
    }

    /// The number in the plan of a tree that the finder has by another one.
    constexpr std::uint32_t listed_tree(std::uint32_t number) {
        return listed(number, tree_numbers_, result_.trees.trees, [&] {
            stored_tree tree = relays_.trees().trees[number];
            std::vector<holder_t> const& receivers = relays_.trees().lists[tree.list];
            tree.list =
                listed(tree.list, list_numbers_, result_.trees.lists, [&] { return receivers; });
            return tree;
        });
    }

    /// The number in `list` of an element that has another number in the finder; `get()` is added
    /// the first time.
    static constexpr std::uint32_t listed(std::uint32_t number, std::vector<std::uint32_t>& numbers,
                                          auto& list, auto&& get) {
        if (number >= numbers.size())
            numbers.resize(number + 1, not_listed);
        if (numbers[number] == not_listed) {
            numbers[number] = static_cast<std::uint32_t>(list.size());
            list.push_back(get());
        }
        return numbers[number];
    }

    /// Brings the transfers of one tensor into the order of its target shards, and of its relays.
    constexpr void sort(std::size_t first, std::size_t first_relay, pattern const& cuts) {
        std::vector<transfer> const listed(result_.transfers.begin() +
                                               static_cast<std::ptrdiff_t>(first),
                                           result_.transfers.end());
        std::vector<std::uint32_t> order(listed.size(), 0), positions(listed.size(), 0);
        std::iota(order.begin(), order.end(), 0);
        sort_numbers(order, [&](std::uint32_t a, std::uint32_t b) {
            return order_of(listed[a], cuts) < order_of(listed[b], cuts);
        });
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            positions[order[i]] = static_cast<std::uint32_t>(first) + i;
            result_.transfers[first + i] = listed[order[i]];
        }
        auto const relays = result_.relays.begin() + static_cast<std::ptrdiff_t>(first_relay);
        for (auto step = relays; step != result_.relays.end(); ++step) {
            step->transfer = positions[step->transfer - first];
            if (step->input != relay::no_input)
                step->input = positions[step->input - first];
        }
        sort_by(std::span(relays, result_.relays.end()),
                [](relay const& a, relay const& b) { return a.transfer < b.transfer; });
    }

    static constexpr pattern_order order_of(transfer const& listed, pattern const& cuts) {
        return {listed.target_shard, listed.target_part, cuts.target_offset(listed.cut)};
    }

    constexpr void name_source(transfer& entry, key_id source, shard_part chosen) const {
        entry.source_key = source;
        entry.source_shard = chosen.shard;
        entry.source_part = chosen.part;
        entry.source_holder = problem_.sources[source].shards.holder(chosen.shard);
    }

    plan_problem const& problem_;
    plan_scope const& scope_;
    sender_finder const& senders_;
    relay_finder& relays_;
    std::vector<std::uint32_t> tree_numbers_; ///< by number of the finder, here and below
    std::vector<std::uint32_t> list_numbers_;
    plan result_;
};

} // namespace detail

/// The transfers of the holders in `scope`: the ones of `make_patterns`, listed.
///
/// \par Units  elements; `bytes` only through `wire_bytes`
/// \post       `verify` finds nothing; the plan does not depend on the order of keys, and on that
///             of a rank's shards at most in which of several replicas gives
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
