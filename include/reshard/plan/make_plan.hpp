// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_MAKE_PLAN_HPP
#define RESHARD_PLAN_MAKE_PLAN_HPP

#include <reshard/plan/cut_list.hpp>
#include <reshard/plan/options.hpp>

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
        : problem_(problem), scope_(scope), options_(options), sources_(problem) {}

    constexpr plan make() {
        collect_tensors();
        select_sources();
        auto const kinds = classify_targets();
        for (std::uint32_t const t : kinds.representative)
            plan_kind(problem_.targets[t], selected_targets(problem_.targets[t]));
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t) {
            result_.pattern_of.push_back(kinds.class_of[t]);
            write_transfers(t, cuts_[kinds.class_of[t]]);
        }
        return std::move(result_);
    }

private:
    using numbers = std::vector<std::uint32_t>;

    constexpr bool is_moved(target_side const& target) const { return !target.added; }

    constexpr void collect_tensors() {
        for (source_side const& source : problem_.sources)
            result_.source_dtypes.push_back(source.dtype);
        for (target_side const& target : problem_.targets)
            result_.target_dtypes.push_back(target.dtype);
    }

    /// The boxes of each source tensor that somebody in the scope could give.
    constexpr void select_sources() {
        given_.resize(problem_.sources.size(), numbers{});
        if (scope_.targets.is_everybody() || options_.shared_sources)
            return;
        for (key_id id = 0; id < problem_.sources.size(); ++id)
            if (problem_.sources[id].shards)
                given_[id] = boxes_in_scope(*problem_.sources[id].shards, sources_.of(id));
    }

    constexpr numbers boxes_in_scope(shard_table const& table, part_index const& index) const {
        numbers boxes;
        for (std::uint32_t i = 0; i < index.boxes.size(); ++i)
            for (std::size_t which = 0; which < index.replicas(i); ++which)
                if (scope_.sources.contains(table.holder(index.replica(i, which).shard))) {
                    boxes.push_back(i);
                    break;
                }
        return boxes;
    }

    constexpr numbers selected_targets(target_side const& target) const {
        numbers shards;
        for (std::uint32_t shard = 0; is_moved(target) && shard < target.shards->size(); ++shard)
            if (scope_.targets.contains(target.shards->holder(shard)))
                shards.push_back(shard);
        return shards;
    }

    /// Target tensors with equal shards in the scope, made in the same way of equal sources.
    constexpr equal_classes classify_targets() const {
        std::vector<std::uint64_t> digests;
        for (target_side const& target : problem_.targets)
            digests.push_back(digest_of(target));
        return classify(digests, [&](std::uint32_t a, std::uint32_t b) {
            return same_kind(problem_.targets[a], problem_.targets[b]);
        });
    }

    constexpr std::uint64_t digest_of(target_side const& target) const {
        hasher digest;
        digest.add(static_cast<std::uint64_t>(is_moved(target)));
        add(digest, *target.shards);
        add(digest, target.pieces->target_boxes());
        if (!scope_.targets.is_everybody())
            for (std::uint32_t const shard : selected_targets(target))
                digest.add(shard);
        return digest.value();
    }

    constexpr bool same_kind(target_side const& a, target_side const& b) const {
        if (is_moved(a) != is_moved(b) || !same_geometry(*a.shards, *b.shards) ||
            a.pieces->target_boxes() != b.pieces->target_boxes() ||
            (!scope_.targets.is_everybody() && selected_targets(a) != selected_targets(b)))
            return false;
        for (std::size_t i = 0; i < a.pieces->size(); ++i)
            if (!same_piece((*a.pieces)[i], (*b.pieces)[i]))
                return false;
        return same_repetition(*a.pieces, *b.pieces);
    }

    constexpr bool same_piece(piece const& a, piece const& b) const {
        if (a.order != b.order || a.source_offset != b.source_offset)
            return false;
        if (a.source == zero_source || b.source == zero_source)
            return a.source == b.source;
        return sources_.same_kind(a.source, b.source) && given_[a.source] == given_[b.source];
    }

    /// True where two pieces of `a` have one source exactly where those of `b` have: then planning
    /// the tensors by number plans the same thing.
    constexpr bool same_repetition(piece_list const& a, piece_list const& b) const {
        return first_uses(a) == first_uses(b);
    }

    constexpr numbers first_uses(piece_list const& pieces) const {
        std::vector<std::pair<key_id, std::uint32_t>> uses;
        for (std::uint32_t i = 0; i < pieces.size(); ++i)
            uses.push_back({pieces.source(i), i});
        std::sort(uses.begin(), uses.end());
        numbers first(pieces.size(), 0);
        for (std::size_t i = 0; i < uses.size(); ++i)
            first[uses[i].second] = i > 0 && uses[i].first == uses[i - 1].first
                                        ? first[uses[i - 1].second]
                                        : uses[i].second;
        return first;
    }

    constexpr void plan_kind(target_side const& target, numbers const& wanted) {
        std::vector<placed_cut> cuts;
        if (is_moved(target)) {
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
                id != zero_source && !given_[id].empty())
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
            for (std::uint32_t const source_box : given_[id])
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
    std::vector<numbers> given_;                ///< by source key: boxes that the scope could give
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
