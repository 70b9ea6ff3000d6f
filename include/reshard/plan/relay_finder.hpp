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
    std::uint32_t box = 0;  ///< of the target, as `target_boxes` numbers it
    std::uint32_t kept = 0; ///< where the finder has the shards of all takers

    constexpr bool is_passed_on() const { return place > 0; }
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
        boxes_ = std::vector<std::optional<target_boxes>>(targets.representatives().size());
        chunks_ = chunks_of_holder();
    }

    constexpr relay_tree const& tree(std::uint32_t number) const { return trees_[number]; }

    /// The shard of the taker at `place` in the tree where another one of its takers was found.
    constexpr shard_part part_of(relay_place const& found, std::uint32_t place) const {
        return known_[found.kept].takers[place];
    }

    /// True where a taker gives that cut of a tensor, not the source.
    constexpr bool is_passed_on(std::uint32_t tensor, cut_place const& at) {
        auto const found = find(tensor, at);
        return found && found->is_passed_on();
    }

    /// Nothing where the source gives that cut of a tensor directly.
    constexpr std::optional<relay_place> find(std::uint32_t tensor, cut_place const& at) {
        if (boxes_.empty())
            return std::nullopt;
        target_side const& target = problem_.targets[tensor];
        key_id const source = target.pieces->source(at.piece);
        if (source == zero_source || !can_pass_on(source, target))
            return std::nullopt;
        target_boxes const& boxes = boxes_of(tensor);
        std::uint32_t const box = boxes.number(at.target_shard, at.target_part);
        if (box == target_boxes::none || boxes.holders(box) < 2)
            return std::nullopt;
        shard_index const& index = sources_.of(source);
        std::size_t const turn =
            in_turn(turns_.first(tensor) + std::uint64_t{box}, index.replicas(at.source_box));
        std::uint32_t const kept =
            find_tree({sources_.kinds().spread(source), at.source_box, targets_.spread(tensor), box,
                       static_cast<std::uint32_t>(turn)},
                      source, tensor);
        known_tree const& known = known_[kept];
        auto const place = std::lower_bound(known.places.begin(), known.places.end(),
                                            std::pair{at.target_shard, std::uint32_t{0}});
        if (place == known.places.end() || place->first != at.target_shard)
            return std::nullopt;
        return relay_place{index.replica(at.source_box, turn), known.number, place->second, box,
                           kept};
    }

private:
    /// True where the elements have the type of the target on their way.
    constexpr bool can_pass_on(key_id source, target_side const& target) const {
        return wire_dtype(problem_.sources[source].dtype, target.dtype) == target.dtype;
    }

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
        std::vector<shard_part> takers;                              ///< by place
        std::vector<std::pair<std::uint32_t, std::uint32_t>> places; ///< by target shard
    };

    /// Who wants a box.
    struct taker {
        holder_t process = 0;
        shard_part part;
        holder_t holder = 0;
    };

    /// \pre relays are asked for
    constexpr target_boxes const& boxes_of(std::uint32_t tensor) {
        std::optional<target_boxes>& boxes = boxes_[targets_.kind(targets_.spread(tensor))];
        if (!boxes)
            boxes.emplace(problem_.targets[tensor].shards);
        return *boxes;
    }

    /// What a target holder gets, on average.
    constexpr std::size_t chunks_of_holder() const {
        std::vector<double> elements;
        for (tensor_shards const& shards : targets_.spreads())
            elements.push_back(shards ? elements_of(shards) : 0);
        double bytes = 0;
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t)
            bytes += elements[targets_.spread(t)] *
                     static_cast<double>(bits(problem_.targets[t].dtype)) / 8;
        return static_cast<std::size_t>(bytes / static_cast<double>(chunk_bytes) /
                                        std::max<holder_t>(1, problem_.target_holders));
    }

    /// What all shards have together; of a grid, as many as if all boxes were like the first one.
    static constexpr double elements_of(tensor_shards const& shards) {
        if (shards.grid())
            return static_cast<double>(shards.elements(0)) * static_cast<double>(shards.size());
        double elements = 0;
        for (std::size_t i = 0; i < shards.size(); ++i)
            elements += static_cast<double>(shards.elements(i));
        return elements;
    }

    /// Where a tree is kept, perhaps an empty one.
    constexpr std::uint32_t find_tree(tree_key const& key, key_id source, std::uint32_t tensor) {
        std::uint64_t const digest = digest_of_all(key.source_spread, key.source_box,
                                                   key.target_spread, key.target_box, key.turn);
        known_numbers_.make_room(known_.size());
        auto& slot = known_numbers_.find(
            digest, [&](std::uint32_t number) { return known_[number].key == key; });
        if (slot.number == class_table::none) {
            slot = {digest, static_cast<std::uint32_t>(known_.size())};
            known_.push_back(make_tree(key, source, tensor));
        }
        return slot.number;
    }

    constexpr known_tree make_tree(tree_key const& key, key_id source, std::uint32_t tensor) {
        std::vector<taker> takers = far_takers(key, source, tensor);
        known_tree result{key, 0, {}, {}};
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
            result.takers.push_back(takers[i].part);
            result.places.push_back({takers[i].part.shard, i});
        }
        std::sort(result.places.begin(), result.places.end());
        result.number = tree_number(std::move(tree));
        return result;
    }

    /// A tree by which other boxes go as well has one number.
    constexpr std::uint32_t tree_number(relay_tree tree) {
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
                                            std::uint32_t tensor) {
        std::vector<holder_t> const near = nodes_of(source, key.source_box);
        std::vector<taker> takers;
        boxes_of(tensor).for_each_holder(key.target_box, [&](shard_part part) {
            holder_t const holder = problem_.targets[tensor].shards.holder(part.shard);
            if (!std::binary_search(near.begin(), near.end(), options_.node_of(holder)))
                takers.push_back({options_.process_of(holder), part, holder});
        });
        std::sort(takers.begin(), takers.end(), [](taker const& a, taker const& b) {
            return std::pair{a.process, a.part.shard} < std::pair{b.process, b.part.shard};
        });
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
    std::vector<std::optional<target_boxes>> boxes_; ///< by kind of targets; none without relays
    class_table known_numbers_;
    std::vector<known_tree> known_;
    class_table tree_numbers_;
    std::vector<relay_tree> trees_;
};

} // namespace reshard::detail

#endif
