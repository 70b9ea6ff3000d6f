// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SENDERS_HPP
#define RESHARD_PLAN_SENDERS_HPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/pattern_plan.hpp>
#include <reshard/plan/plan.hpp>
#include <reshard/plan/relay_trees.hpp>
#include <reshard/plan/source_indices.hpp>
#include <reshard/plan/target_boxes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

/// \file
/// Chooses the sender of each cut of each target tensor, if several holders could send the cut.

namespace reshard::detail {

/// The position of each shard among all shards. Replicas of one box are neighbours, and boxes are
/// in order.
///
/// So shards that want the same source box are neighbours, and their turns are spread evenly over
/// its replicas. Rank numbers would not do this: ranks that want the same box are often a power of
/// two apart.
constexpr vector<std::uint32_t> places_by_box(tensor_shards const& shards) {
    vector<std::uint32_t> places(shards ? shards.size() : 0, 0);
    shard_index const index(shards);
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < index.size(); ++i)
        for (std::size_t which = 0; which < index.replicas(i); ++which)
            places[index.replica(i, which).shard] = next++;
    return places;
}

/// The turns of the shards of all target tensors. Every process that knows the problem gets the
/// same turns.
///
/// Refers to its arguments, which must outlive it.
class target_turns {
public:
    /// \param are_taken false: turns are not needed, and are not computed
    constexpr target_turns(plan_problem const& problem, plan_options const& options,
                           source_indices const& sources, shard_kinds const& targets,
                           bool are_taken)
        : problem_(problem), options_(options), targets_(targets) {
        if (are_taken && !options.shared_sources && options.between_nodes.has_relays())
            stripes_ = tensor_stripes(problem, options, sources.kinds(), targets);
        if (!are_taken || !sources.have_replicas() || options.shared_sources)
            return;
        count_tensors(sources);
        places_ = vector<vector<std::uint32_t>>(targets.representatives().size());
        for (std::size_t kind = 0; kind < places_.size(); ++kind)
            if (tensor_shards const& shards = targets.spreads()[targets.representatives()[kind]];
                shards.table() && options.between_nodes.choice != sender_choice::by_target)
                places_[kind] = places_by_box(shards);
    }

    constexpr plan_options const& options() const { return options_; }
    constexpr shard_kinds const& targets() const { return targets_; }
    constexpr tensor_stripes const& stripes() const { return stripes_; }

    /// The first turn of a tensor.
    constexpr std::uint32_t first(std::uint32_t tensor) const {
        return first_.empty() ? 0 : first_[tensor];
    }

    constexpr std::uint64_t of(std::uint32_t tensor, std::uint32_t shard) const {
        if (first_.empty())
            return 0;
        tensor_shards const& shards = problem_.targets[tensor].shards;
        return first_[tensor] + (options_.between_nodes.choice == sender_choice::by_target
                                     ? shards.holder(shard)
                                     : place(tensor, shards, shard));
    }

private:
    constexpr std::uint64_t place(std::uint32_t tensor, tensor_shards const& shards,
                                  std::uint32_t shard) const {
        if (shards.grid())
            return shards.grid()->box_of(shard) * shards.grid()->replicas() +
                   shards.grid()->replica_of(shard);
        vector<std::uint32_t> const& places = places_[targets_.kind(targets_.spread(tensor))];
        return places.empty() ? shard : places[shard];
    }

    /// Equal tensors begin at successive turns if few shards want a box that many holders have. If
    /// many shards want it, equal tensors begin at the same turn, and are counted together. With
    /// relays, each wanted box is sent once, and tensors always begin at successive turns.
    constexpr void count_tensors(source_indices const& sources) {
        vector<std::uint32_t> counts(sources.kinds().spreads().size(), 0);
        first_.reserve(problem_.targets.size());
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t) {
            target_side const& target = problem_.targets[problem_.example_of(t)];
            key_id const source = first_source(target);
            if (source == zero_source) {
                first_.push_back(0);
                continue;
            }
            shard_index const& index = sources.of(source);
            auto const wanting = std::max<std::size_t>(
                target.shards.size() / std::max<std::size_t>(index.size(), 1), 1);
            std::uint32_t const before = counts[sources.kinds().spread(source)]++;
            first_.push_back(first_turn(before, wanting, index.most_replicas()));
        }
    }

    constexpr std::uint32_t first_turn(std::uint32_t before, std::size_t wanting,
                                       std::size_t replicas) const {
        std::size_t const each = options_.between_nodes.has_relays() ? 1
                                 : wanting < 8 * replicas            ? wanting
                                                                     : 0;
        return static_cast<std::uint32_t>(before * each % (replicas * replicas));
    }

    plan_problem const& problem_;
    plan_options const& options_;
    shard_kinds const& targets_;
    vector<std::uint32_t> first_;          ///< by tensor; empty if there is no choice
    vector<vector<std::uint32_t>> places_; ///< by kind of targets; for listed shards
    tensor_stripes stripes_;
};

/// The data type of a piece of a target tensor on the wire.
constexpr data_type wire_dtype(plan_problem const& problem, std::uint32_t tensor,
                               std::size_t piece) {
    target_side const& target = problem.targets[tensor];
    key_id const source = target.pieces->source(piece);
    return source == zero_source ? target.dtype
                                 : wire_dtype(problem.sources[source].dtype, target.dtype,
                                              target.pieces->dequantizes(piece));
}

/// The bytes on the wire of a cut with `elements` elements.
///
/// \par Units bytes, the last byte filled up
constexpr index_t wire_bytes(plan_problem const& problem, std::uint32_t tensor, std::size_t piece,
                             index_t elements) {
    return byte_count(elements, wire_dtype(problem, tensor, piece));
}

/// The holders of a box, sorted, so that a sender is chosen without a look at every holder.
class box_holders {
public:
    /// \param holder_at gives the holder at each position below `count`
    constexpr box_holders(std::size_t count, auto&& holder_at, plan_options const& options)
        : count_(count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            by_process_.push_back({options.process_of(holder_at(i)), i});
            by_node_.push_back({options.node_of(holder_at(i)), i});
        }
        std::sort(by_process_.begin(), by_process_.end());
        std::sort(by_node_.begin(), by_node_.end());
    }

    /// Returns the result of `choose_replica`.
    constexpr std::size_t choose(holder_t target, std::uint64_t turn,
                                 plan_options const& options) const {
        if (auto const own = range_of(by_process_, options.process_of(target)); !own.empty())
            return own[0].second;
        auto const near = range_of(by_node_, options.node_of(target));
        return near.empty() ? in_turn(turn, count_) : near[in_turn(turn, near.size())].second;
    }

private:
    using place = std::pair<holder_t, std::uint32_t>; ///< its process or node, and its number

    static constexpr std::span<place const> range_of(vector<place> const& sorted, holder_t number) {
        auto const begin = std::lower_bound(sorted.begin(), sorted.end(), place(number, 0));
        auto const end = std::upper_bound(begin, sorted.end(), place(number, 0xffffffff));
        return {begin, end};
    }

    std::size_t count_;
    vector<place> by_process_;
    vector<place> by_node_;
};

/// Chooses senders. Refers to its arguments, which must outlive it.
class sender_finder {
public:
    constexpr sender_finder(plan_problem const& problem, plan_options const& options,
                            source_indices const& sources, target_turns const& turns)
        : problem_(problem), options_(options), sources_(sources), turns_(turns) {}

    /// The source shard that sends cut number `cut` of `tensor`.
    ///
    /// \pre the cut has a source
    constexpr shard_part operator()(pattern_plan const& patterns, std::uint32_t tensor,
                                    std::size_t cut) {
        cut_place const& cut_place = patterns.patterns[patterns.pattern_of[tensor]].place(cut);
        target_side const& target = problem_.targets[tensor];
        key_id const source = target.pieces->source(cut_place.piece);
        shard_index const& index = sources_.of(source);
        return index.replica(cut_place.source_box,
                             patterns.senders.has(tensor)
                                 ? patterns.replica(tensor, cut)
                                 : choose(source, cut_place.source_box,
                                          target.shards.holder(cut_place.target_shard),
                                          turns_.of(tensor, cut_place.target_shard)));
    }

private:
    struct known_box {
        std::uint32_t spread;
        std::uint32_t box;
        box_holders holders;
    };

    constexpr std::size_t choose(key_id source, std::uint32_t box, holder_t target,
                                 std::uint64_t turn) {
        constexpr std::size_t few = 8;
        shard_index const& index = sources_.of(source);
        tensor_shards const& shards = problem_.sources[source].shards;
        std::size_t const count = index.replicas(box);
        if (count < few || options_.shared_sources || index.computes_choice(box, options_))
            return index.choose(box, shards, target, turn, options_);
        std::uint32_t const spread = sources_.kinds().spread(source);
        std::uint32_t const number =
            numbers_.number(digest_of_all(spread, box), [&](std::uint32_t candidate) {
                return known_[candidate].spread == spread && known_[candidate].box == box;
            });
        auto const holder_at = [&](std::size_t which) {
            return shards.holder(index.replica(box, which).shard);
        };
        if (number == known_.size())
            known_.push_back({spread, box, box_holders(count, holder_at, options_)});
        return known_[number].holders.choose(target, turn, options_);
    }

    plan_problem const& problem_;
    plan_options const& options_;
    source_indices const& sources_;
    target_turns const& turns_;
    class_table numbers_; ///< of `known_`
    vector<known_box> known_;
};

/// The position of a cut of a tensor in a tree, and its source.
struct relay_place {
    shard_part sender;
    std::uint32_t tree = 0;
    std::uint32_t position = 0;
    std::uint32_t box = 0;       ///< the number of the target box in `target_boxes`
    std::uint32_t receivers = 0; ///< set if the finder has the receivers' shards

    constexpr bool is_passed_on() const { return position > 0; }
};

/// Finds the ranks that relay elements of a plan, from layouts; the result is the same on every
/// rank.
class any_relays {
public:
    constexpr virtual ~any_relays() = default;

    /// std::nullopt if the source sends that cut of a tensor directly.
    virtual std::optional<relay_place> find(std::uint32_t tensor, cut_place const& at) = 0;

    /// All trees so far, by number.
    virtual relay_trees const& trees() const = 0;

    /// Lists a transfer of a tree, and the transfers by which receivers in the scope pass its
    /// elements on.
    virtual void list(plan& listed, transfer entry, relay_place const& at,
                      plan_scope const& scope) = 0;

    /// Sorts the last transfers of a plan, which belong to one tensor, by target shard. Their
    /// relays move with them.
    virtual void sort(plan& listed, std::size_t first, std::size_t first_relay,
                      pattern const& cuts) const = 0;
};

/// Functions that choose senders other than by turns.
struct node_steps {
    bool (*can_balance)(plan_problem const& problem, plan_options const& options,
                        source_indices const& sources);

    void (*balance)(plan_problem const& problem, plan_options const& options,
                    source_indices const& sources, shard_kinds const& targets,
                    pattern_plan& patterns);

    std::unique_ptr<any_relays> (*find_relays)(plan_problem const& problem,
                                               plan_options const& options,
                                               source_indices const& sources,
                                               shard_kinds const& targets,
                                               target_turns const& turns);

    /// The options with `sender_choice::faster` replaced by the choice that it leads to.
    plan_options (*faster)(plan_problem const& problem, plan_options const& options,
                           source_indices const& sources, shard_kinds const& targets);
};

} // namespace reshard::detail

#endif
