// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_RELAY_FINDER_HPP
#define RESHARD_PLAN_RELAY_FINDER_HPP

#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/senders.hpp>
#include <reshard/plan/target_boxes.hpp>
#include <reshard/plan/tree_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

/// \file
/// Finds the ranks that relay elements, from layouts; the result is the same on every rank.

namespace reshard::detail {

/// Finds the trees of a problem.
///
/// A tree has the holders that want a box, if neither their process nor their node holds the box.
/// They are ordered by process, beginning after the source, so that trees of different sources
/// begin at different positions. On each node, a stripe's tree begins at another holder. If a
/// process plays several of the holders, only the first one is in the tree. Elements that are wider
/// in the target than on the wire are not relayed: more bytes would travel.
///
/// Refers to its arguments, which must outlive it.
class relay_finder {
public:
    constexpr relay_finder(plan_problem const& problem, plan_options const& options,
                           source_indices const& sources, shard_kinds const& targets,
                           target_turns const& turns)
        : problem_(problem),
          options_(options),
          sources_(sources),
          targets_(targets),
          turns_(turns),
          trees_(options) {
        if (!options.between_nodes.has_relays() || options.shared_sources)
            return;
        boxes_ = vector<std::optional<target_boxes>>(targets.representatives().size());
        chunks_ = chunks_of_holder();
    }

    /// All trees so far, by number.
    constexpr relay_trees const& trees() const { return trees_.trees(); }

    /// The shard of receiver `index` in a tree; `relay_place` may be for another receiver.
    constexpr shard_part part_of(relay_place const& relay_place, std::uint32_t index) const {
        return part_of(relay_place.receivers, trees()[relay_place.tree].receivers[index]);
    }

    /// std::nullopt if the source sends that cut of a tensor directly.
    constexpr std::optional<relay_place> find(std::uint32_t tensor, cut_place const& at) {
        if (boxes_.empty())
            return std::nullopt;
        target_side const& target = problem_.targets[tensor];
        key_id const source = target.pieces->source(at.piece);
        if (source == zero_source || wire_dtype(problem_, tensor, at.piece) != target.dtype)
            return std::nullopt;
        target_boxes const& boxes = boxes_of(tensor);
        std::uint32_t const box = boxes.number(at.target_shard, at.target_part);
        if (box == target_boxes::none || boxes.holders(box) < 2)
            return std::nullopt;
        shard_index const& index = sources_.of(source);
        std::size_t const turn = in_turn(std::uint64_t{turns_.first(tensor)} + at.replica + box,
                                         index.replicas(at.source_box));
        known_tree const& tree =
            known_[find_tree({sources_.kinds().spread(source), at.source_box,
                              targets_.spread(tensor), box, static_cast<std::uint32_t>(turn),
                              (turns_.stripes().first(tensor) + at.replica) %
                                  turns_.stripes().count(targets_.spread(tensor))},
                             source, tensor)];
        if (tree.number == tree_table::none)
            return std::nullopt;
        holder_t const holder = target.shards.holder(at.target_shard);
        auto const position = trees_.place_in_tree(tree.number, holder);
        if (!position || part_of(tree.receivers, holder).shard != at.target_shard)
            return std::nullopt;
        return relay_place{index.replica(at.source_box, turn), tree.number, *position, box,
                           tree.receivers};
    }

private:
    /// The values that decide which holders are in a tree.
    struct tree_key {
        std::uint32_t source_spread = 0;
        std::uint32_t source_box = 0;
        std::uint32_t target_spread = 0;
        std::uint32_t target_box = 0;
        std::uint32_t turn = 0;
        std::uint32_t stripe = 0;

        constexpr bool operator==(tree_key const&) const = default;
    };

    struct known_tree {
        tree_key key;
        std::uint32_t receivers = 0;
        std::uint32_t number = tree_table::none;
    };

    using spread_box =
        std::pair<std::uint32_t, std::uint32_t>; ///< a target's spread, and a box of it

    /// The holders that want a box, from any sender: only the first holder of each process.
    struct box_receivers {
        spread_box box;
        vector<holder_t> holders;    ///< in the order of their processes
        vector<shard_part> parts;    ///< of the holders
        vector<std::uint32_t> lists; ///< by stripe; `none` if not yet made
    };

    /// \pre the options have relays
    constexpr target_boxes const& boxes_of(std::uint32_t tensor) {
        std::optional<target_boxes>& boxes = boxes_[targets_.kind(targets_.spread(tensor))];
        if (!boxes)
            boxes.emplace(problem_.targets[tensor].shards);
        return *boxes;
    }

    /// The chunks that a target holder receives, on average.
    constexpr std::size_t chunks_of_holder() const {
        vector<double> elements;
        for (tensor_shards const& shards : targets_.spreads())
            elements.push_back(shards ? elements_of(shards) : 0);
        double bytes = 0;
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t)
            bytes += elements[targets_.spread(t)] *
                     static_cast<double>(bits(problem_.targets[t].dtype)) / 8;
        return static_cast<std::size_t>(bytes / static_cast<double>(chunk_bytes) /
                                        std::max<holder_t>(1, problem_.target_holders));
    }

    /// The number of elements of all shards. For a grid, all boxes count as large as the first one.
    static constexpr double elements_of(tensor_shards const& shards) {
        if (shards.grid())
            return static_cast<double>(shards.elements(0)) * static_cast<double>(shards.size());
        double elements = 0;
        for (std::size_t i = 0; i < shards.size(); ++i)
            elements += static_cast<double>(shards.elements(i));
        return elements;
    }

    /// The index of a tree in `known_`; the tree may be empty.
    constexpr std::uint32_t find_tree(tree_key const& key, key_id source, std::uint32_t tensor) {
        std::uint32_t const index = known_numbers_.number(
            digest_of_all(key.source_spread, key.source_box, key.target_spread, key.target_box,
                          key.turn, key.stripe),
            [&](std::uint32_t candidate) { return known_[candidate].key == key; });
        if (index < known_.size())
            return index;
        std::uint32_t const receivers = find_receivers(key, tensor);
        holder_t const sender = problem_.sources[source].shards.holder(
            sources_.of(source).replica(key.source_box, key.turn).shard);
        auto const node_of = [&](holder_t holder) { return options_.node_of(holder); };
        known_.push_back(
            {key, receivers,
             trees_.add_tree(sender, list_of(receivers_[receivers], key.stripe),
                             sources_.senders_of(source, key.source_box, node_of), chunks_)});
        return index;
    }

    constexpr std::uint32_t find_receivers(tree_key const& key, std::uint32_t tensor) {
        std::pair const box{key.target_spread, key.target_box};
        std::uint32_t const index =
            receivers_numbers_.number(digest_of_all(box), [&](std::uint32_t candidate) {
                return receivers_[candidate].box == box;
            });
        if (index == receivers_.size())
            receivers_.push_back(receivers_of(box, tensor));
        return index;
    }

    constexpr box_receivers receivers_of(spread_box const& box, std::uint32_t tensor) {
        tensor_shards const& shards = problem_.targets[tensor].shards;
        vector<shard_part> parts;
        boxes_of(tensor).for_each_holder(box.second,
                                         [&](shard_part part) { parts.push_back(part); });
        auto const process = [&](shard_part part) {
            return options_.process_of(shards.holder(part.shard));
        };
        sort_by(parts, [&](shard_part a, shard_part b) {
            return std::pair{process(a), a.shard} < std::pair{process(b), b.shard};
        });
        parts.erase(
            std::unique(parts.begin(), parts.end(),
                        [&](shard_part a, shard_part b) { return process(a) == process(b); }),
            parts.end());
        vector<holder_t> holders;
        for (shard_part const part : parts)
            holders.push_back(shards.holder(part.shard));
        return {box, std::move(holders), std::move(parts),
                vector<std::uint32_t>(turns_.stripes().count(box.first), tree_table::none)};
    }

    /// The list of the receivers of a stripe. On each node, each stripe begins at another receiver.
    constexpr std::uint32_t list_of(box_receivers& receivers, std::uint32_t stripe) {
        std::uint32_t& number = receivers.lists[stripe];
        if (number != tree_table::none)
            return number;
        vector<holder_t> holders = receivers.holders;
        for (auto first = holders.begin(); first != holders.end();) {
            auto const last = std::find_if(first, holders.end(), [&](holder_t holder) {
                return options_.node_of(holder) != options_.node_of(*first);
            });
            std::rotate(first, first + stripe % (last - first), last);
            first = last;
        }
        return number = trees_.add_list(std::move(holders));
    }

    /// The shard of a receiver of a box.
    constexpr shard_part part_of(std::uint32_t receivers, holder_t holder) const {
        box_receivers const& listed = receivers_[receivers];
        auto const at =
            std::ranges::lower_bound(listed.holders, options_.process_of(holder), {},
                                     [&](holder_t index) { return options_.process_of(index); });
        return listed.parts[static_cast<std::size_t>(at - listed.holders.begin())];
    }

    plan_problem const& problem_;
    plan_options const& options_;
    source_indices const& sources_;
    shard_kinds const& targets_;
    target_turns const& turns_;
    std::size_t chunks_ = 0;
    vector<std::optional<target_boxes>> boxes_; ///< by kind of targets; empty without relays
    class_table known_numbers_;
    vector<known_tree> known_;
    class_table receivers_numbers_;
    vector<box_receivers> receivers_;
    tree_table trees_;
};

} // namespace reshard::detail

#endif
