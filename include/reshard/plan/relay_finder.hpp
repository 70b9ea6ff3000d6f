// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_RELAY_FINDER_HPP
#define RESHARD_PLAN_RELAY_FINDER_HPP

#include <reshard/plan/cost.hpp>
#include <reshard/plan/givers.hpp>
#include <reshard/plan/target_boxes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// Who passes on what: found from layouts, by everybody alike.

namespace reshard::detail {

/// Where a cut of a tensor stands in a tree, and who is its source.
struct relay_place {
    shard_part giver;
    std::uint32_t tree = 0;
    std::uint32_t place = 0;
};

/// Finds the trees of a problem.
///
/// Those that want a box, and have no holder of it in their process or on their node, are a tree:
/// by process, beginning behind the source, so that trees of different sources begin at different
/// places. Of holders that one process plays, the first is in it. Elements that are wider in the
/// target than on the wire are not passed on: more bytes would travel.
///
/// Refers to all that it is made from, which must live as long.
class relay_finder {
public:
    constexpr relay_finder(plan_problem const& problem, plan_options const& options,
                           source_indices const& sources, shard_kinds const& targets,
                           target_turns const& turns)
        : problem_(problem),
          options_(options),
          sources_(sources),
          targets_(targets),
          turns_(turns) {
        if (!options.relays || options.shared_sources)
            return;
        for (std::uint32_t const spread : targets.representatives())
            boxes_.emplace_back(targets.spreads()[spread]);
        chunks_ = chunks_of_holder();
    }

    constexpr bool is_used() const { return !boxes_.empty(); }

    constexpr relay_tree const& tree(std::uint32_t number) const { return trees_[number]; }

    /// Nothing where the source gives that cut of a tensor directly.
    constexpr std::optional<relay_place> find(std::uint32_t tensor, cut_place const& at) {
        target_side const& target = problem_.targets[tensor];
        key_id const source = target.pieces->source(at.piece);
        if (!is_used() || source == zero_source || !can_pass_on(source, target))
            return std::nullopt;
        std::uint32_t const box = box_of(tensor, at);
        if (box == target_boxes::none)
            return std::nullopt;
        shard_index const& index = sources_.of(source);
        std::size_t const turn =
            in_turn(turns_.first(tensor) + std::uint64_t{box}, index.replicas(at.source_box));
        known_tree const& known =
            tree_of({sources_.kinds().spread(source), at.source_box, targets_.spread(tensor), box,
                     static_cast<std::uint32_t>(turn)},
                    source, target);
        auto const place = std::lower_bound(known.places.begin(), known.places.end(),
                                            std::pair{at.target_shard, std::uint32_t{0}});
        if (place == known.places.end() || place->first != at.target_shard)
            return std::nullopt;
        return relay_place{index.replica(at.source_box, turn), known.number, place->second};
    }

    /// True where the elements have the type of the target on their way.
    constexpr bool can_pass_on(key_id source, target_side const& target) const {
        return wire_dtype(problem_.sources[source].dtype, target.dtype) == target.dtype;
    }

private:
    /// What decides who is in a tree.
    struct tree_key {
        std::uint32_t source_spread = 0;
        std::uint32_t source_box = 0;
        std::uint32_t target_spread = 0;
        std::uint32_t target_box = 0;
        std::uint32_t turn = 0;

        constexpr bool operator==(tree_key const&) const = default;
    };

    struct known_tree {
        tree_key key;
        std::uint32_t number = 0;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> places; ///< by target shard
    };

    /// Who wants a box.
    struct taker {
        holder_t process = 0;
        std::uint32_t shard = 0;
        holder_t holder = 0;

        constexpr auto operator<=>(taker const&) const = default;
    };

    constexpr std::uint32_t kind_of(std::uint32_t tensor) const {
        return targets_.kind(targets_.spread(tensor));
    }

    constexpr std::uint32_t box_of(std::uint32_t tensor, cut_place const& at) const {
        return boxes_[kind_of(tensor)].number(at.target_shard, at.target_part);
    }

    /// What a target holder gets, on average.
    constexpr std::size_t chunks_of_holder() const {
        std::vector<index_t> elements;
        for (tensor_shards const& shards : targets_.spreads()) {
            elements.push_back(0);
            for (std::size_t i = 0; shards && i < shards.size(); ++i)
                elements.back() += shards.elements(i);
        }
        std::uint64_t bytes = 0;
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t)
            bytes += static_cast<std::uint64_t>(elements[targets_.spread(t)]) *
                     static_cast<std::uint64_t>(bits(problem_.targets[t].dtype)) / 8;
        return static_cast<std::size_t>(bytes / static_cast<std::uint64_t>(chunk_bytes) /
                                        std::max<holder_t>(1, problem_.target_holders));
    }

    constexpr known_tree const& tree_of(tree_key const& key, key_id source,
                                        target_side const& target) {
        std::uint64_t const digest = digest_of_all(key.source_spread, key.source_box,
                                                   key.target_spread, key.target_box, key.turn);
        known_numbers_.make_room(known_.size());
        auto& slot = known_numbers_.find(
            digest, [&](std::uint32_t number) { return known_[number].key == key; });
        if (slot.number == class_table::none) {
            slot = {digest, static_cast<std::uint32_t>(known_.size())};
            known_.push_back(make_tree(key, source, target));
        }
        return known_[slot.number];
    }

    constexpr known_tree make_tree(tree_key const& key, key_id source, target_side const& target) {
        std::vector<taker> takers = far_takers(key, source, target);
        known_tree result{key, 0, {}};
        if (takers.size() < 2)
            return result;
        relay_tree tree{problem_.sources[source].shards.holder(
                            sources_.of(source).replica(key.source_box, key.turn).shard),
                        {},
                        branches_for(takers.size(), chunks_)};
        std::rotate(takers.begin(),
                    std::upper_bound(takers.begin(), takers.end(), options_.process_of(tree.source),
                                     [](holder_t a, taker const& b) { return a < b.process; }),
                    takers.end());
        for (std::uint32_t i = 0; i < takers.size(); ++i) {
            tree.takers.push_back(takers[i].holder);
            result.places.push_back({takers[i].shard, i});
        }
        std::sort(result.places.begin(), result.places.end());
        result.number = number_of(std::move(tree));
        return result;
    }

    /// A tree by which other boxes go as well has one number.
    constexpr std::uint32_t number_of(relay_tree tree) {
        hasher digest;
        digest.add(std::uint64_t{tree.source});
        for (holder_t const holder : tree.takers)
            digest.add(std::uint64_t{holder});
        tree_numbers_.make_room(trees_.size());
        auto& slot = tree_numbers_.find(
            digest.value(), [&](std::uint32_t number) { return trees_[number] == tree; });
        if (slot.number == class_table::none) {
            slot = {digest.value(), static_cast<std::uint32_t>(trees_.size())};
            trees_.push_back(std::move(tree));
        }
        return slot.number;
    }

    /// By process, each once.
    constexpr std::vector<taker> far_takers(tree_key const& key, key_id source,
                                            target_side const& target) const {
        std::vector<holder_t> const near = nodes_of(source, key.source_box);
        std::vector<taker> takers;
        shard_index const& wanted = boxes_[targets_.kind(key.target_spread)].index();
        for (std::size_t i = 0; i < wanted.replicas(key.target_box); ++i) {
            std::uint32_t const shard = wanted.replica(key.target_box, i).shard;
            holder_t const holder = target.shards.holder(shard);
            if (!std::binary_search(near.begin(), near.end(), options_.node_of(holder)))
                takers.push_back({options_.process_of(holder), shard, holder});
        }
        std::sort(takers.begin(), takers.end());
        takers.erase(
            std::unique(takers.begin(), takers.end(),
                        [](taker const& a, taker const& b) { return a.process == b.process; }),
            takers.end());
        return takers;
    }

    /// The nodes of those that hold a box.
    constexpr std::vector<holder_t> nodes_of(key_id source, std::uint32_t source_box) const {
        std::vector<holder_t> nodes;
        shard_index const& index = sources_.of(source);
        for (std::size_t i = 0; i < index.replicas(source_box); ++i)
            nodes.push_back(options_.node_of(
                problem_.sources[source].shards.holder(index.replica(source_box, i).shard)));
        std::sort(nodes.begin(), nodes.end());
        return nodes;
    }

    plan_problem const& problem_;
    plan_options const& options_;
    source_indices const& sources_;
    shard_kinds const& targets_;
    target_turns const& turns_;
    std::size_t chunks_ = 0;
    std::vector<target_boxes> boxes_; ///< by kind of targets
    class_table known_numbers_;
    std::vector<known_tree> known_;
    class_table tree_numbers_;
    std::vector<relay_tree> trees_;
};

} // namespace reshard::detail

#endif
