// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_MAKE_PLAN_HPP
#define RESHARD_PLAN_MAKE_PLAN_HPP

#include <reshard/plan/cut_list.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/target_kinds.hpp>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// \file
/// From two layouts and a mapping to the transfers of some holders.

namespace reshard {

namespace detail {

/// Makes one plan: finds equal tensors, plans each kind once, and writes down who is meant.
class planner {
public:
    constexpr planner(plan_problem const& problem, plan_scope const& scope,
                      plan_options const& options)
        : problem_(problem),
          scope_(scope),
          options_(options),
          sources_(problem),
          parts_(problem, scope, options, sources_) {}

    constexpr plan make() {
        collect_tensors();
        equal_classes const kinds = target_kinds(problem_, sources_, parts_).classes();
        for (std::uint32_t const t : kinds.representative)
            plan_kind(problem_.targets[t], parts_.wanted[t]);
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t) {
            result_.pattern_of.push_back(kinds.class_of[t]);
            write_transfers(t, cuts_[kinds.class_of[t]]);
        }
        return std::move(result_);
    }

private:
    using numbers = scope_parts::numbers;

    constexpr void collect_tensors() {
        for (source_side const& source : problem_.sources)
            result_.source_dtypes.push_back(source.dtype);
        for (target_side const& target : problem_.targets)
            result_.target_dtypes.push_back(target.dtype);
    }

    constexpr void plan_kind(target_side const& target, numbers const& wanted) {
        std::vector<placed_cut> cuts;
        if (!target.added) {
            cut_finder const finder(problem_, target, sources_);
            for (std::uint32_t const shard : wanted)
                finder.find_sources_of(shard, cuts);
            find_given(target, wanted, finder, cuts);
            sort_cuts(cuts);
        }
        pattern geometry(target.shards->ndim());
        for (placed_cut const& part : cuts)
            geometry.push_back(part.geometry);
        result_.patterns.push_back(std::move(geometry));
        cuts_.push_back(std::move(cuts));
    }

    /// What the sources in the scope give to target shards outside it.
    constexpr void find_given(target_side const& target, numbers const& wanted,
                              cut_finder const& finder, std::vector<placed_cut>& cuts) const {
        numbers sources;
        for (std::size_t i = 0; i < target.pieces->size(); ++i)
            if (key_id const id = target.pieces->source(i);
                id != zero_source && !parts_.given[id].empty())
                sources.push_back(id);
        if (sources.empty())
            return;
        std::sort(sources.begin(), sources.end());
        sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
        part_index const targets = index_parts(*target.shards);
        auto const outside = [&](std::uint32_t shard) {
            return !std::binary_search(wanted.begin(), wanted.end(), shard);
        };
        for (key_id const id : sources)
            for (std::uint32_t const source_box : parts_.given[id])
                finder.find_targets_of(id, source_box, targets, outside, cuts);
    }

    constexpr void write_transfers(std::uint32_t t, std::vector<placed_cut> const& cuts) {
        target_side const& target = problem_.targets[t];
        std::vector<std::uint16_t> chains;
        for (std::size_t i = 0; i < target.pieces->size() && !cuts.empty(); ++i)
            chains.push_back(chain_number((*target.pieces)[i].casts));
        for (std::uint32_t i = 0; i < cuts.size(); ++i) {
            placed_cut const& part = cuts[i];
            transfer entry{.target_holder = target.shards->holder(part.target_shard),
                           .target_key = t,
                           .target_shard = part.target_shard,
                           .cut = i,
                           .target_part = part.target_part,
                           .chain = chains[part.piece]};
            name_source(entry, target.pieces->source(part.piece), part.source_box);
            if (scope_.targets.contains(entry.target_holder) ||
                (entry.source_holder != no_holder && scope_.sources.contains(entry.source_holder)))
                result_.transfers.push_back(entry);
        }
    }

    constexpr void name_source(transfer& entry, key_id source, std::uint32_t source_box) const {
        if (source == zero_source)
            return;
        part_index const& index = sources_.of(source);
        shard_table const& table = *problem_.sources[source].shards;
        auto const holder_at = [&](std::size_t which) {
            return table.holder(index.replica(source_box, which).shard);
        };
        std::size_t const which =
            choose_replica(index.replicas(source_box), holder_at, entry.target_holder, options_);
        shard_part const chosen = index.replica(source_box, which);
        entry.source_key = source;
        entry.source_shard = chosen.shard;
        entry.source_part = chosen.part;
        entry.source_holder = table.holder(chosen.shard);
    }

    constexpr std::uint16_t chain_number(cast_chain const& chain) {
        auto& chains = result_.chains;
        auto const number = static_cast<std::size_t>(
            std::find(chains.begin(), chains.end(), chain) - chains.begin());
        if (number > std::numeric_limits<std::uint16_t>::max())
            fail(errc::limit_exceeded, "a plan has more than 65536 different chains of casts");
        if (number == chains.size())
            chains.push_back(chain);
        return static_cast<std::uint16_t>(number);
    }

    plan_problem const& problem_;
    plan_scope const& scope_;
    plan_options const& options_;
    source_indices sources_;
    scope_parts parts_;
    std::vector<std::vector<placed_cut>> cuts_; ///< by class of targets
    plan result_;
};

} // namespace detail

/// The transfers of the holders in `scope`.
///
/// Output-sensitive: each shard in the scope is looked up in search trees, and tensors with equal
/// geometry are planned once. Constexpr: with layouts known as types, the plan is a constant.
///
/// \par Units  elements; `bytes` only through `wire_bytes`
/// \post       `verify` finds nothing; the plan does not depend on the order of holders or keys
/// \throws     error with errc::not_covered where nobody holds elements of a wanted shard, with
///             errc::overlap where source shards share elements without being replicas
/// \par Source Flex Checkpoint makes read items from all pairs of boxes; job G of bench/jobs.hpp
///             has 217 million pairs and 955,228 transfers
constexpr plan make_plan(plan_problem const& problem, plan_scope const& scope = {},
                         plan_options const& options = {}) {
    return detail::planner(problem, scope, options).make();
}

} // namespace reshard

#endif
