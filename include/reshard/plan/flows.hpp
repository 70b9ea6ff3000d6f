// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_FLOWS_HPP
#define RESHARD_PLAN_FLOWS_HPP

#include <reshard/plan/cost.hpp>
#include <reshard/plan/giver_classes.hpp>
#include <reshard/plan/givers.hpp>
#include <reshard/plan/make_patterns.hpp>
#include <reshard/plan/relay_finder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// What passes between processes, from patterns: equal tensors are counted, not listed.

namespace reshard {

namespace detail {

/// Which of the shards of one side are held alike: the same boxes by the same holders. By spread.
constexpr std::vector<std::uint32_t> held_alike(shard_kinds const& kinds) {
    auto const& spreads = kinds.spreads();
    std::vector<std::uint64_t> digests;
    for (std::uint32_t i = 0; i < spreads.size(); ++i) {
        hasher digest;
        digest.add(std::uint64_t{kinds.kind(i)});
        for (std::size_t shard = 0; spreads[i] && shard < spreads[i].size(); ++shard)
            digest.add(std::uint64_t{spreads[i].holder(shard)});
        digests.push_back(digest.value());
    }
    auto const same = [&](std::uint32_t a, std::uint32_t b) {
        if (kinds.kind(a) != kinds.kind(b))
            return false;
        for (std::size_t shard = 0; spreads[a] && shard < spreads[a].size(); ++shard)
            if (spreads[a].holder(shard) != spreads[b].holder(shard))
                return false;
        return true;
    };
    return classify(digests, same).class_of;
}

} // namespace detail

/// Target tensors by what filling them costs whom.
///
/// Refers to the problem that it was made from, which must live as long.
class plan_flows {
public:
    /// Plans for everybody.
    ///
    /// \throws error as `make_patterns`
    constexpr explicit plan_flows(detail::plan_problem const& problem,
                                  plan_options const& options = {})
        : problem_(problem),
          options_(options),
          sources_(problem),
          targets_(problem.targets),
          is_balanced_(detail::can_balance(problem, options_, sources_)),
          turns_(problem, options_, sources_, targets_, !is_balanced_),
          givers_(problem, options_, sources_, turns_),
          relays_(problem, options_, sources_, targets_, turns_),
          patterns_(detail::find_patterns(problem, {}, options_, sources_, targets_, is_balanced_)),
          source_places_(detail::held_alike(sources_.kinds())),
          target_places_(detail::held_alike(targets_)) {
        std::vector<std::uint64_t> digests;
        for (std::uint32_t t = 0; t < problem.targets.size(); ++t)
            digests.push_back(digest_of(t));
        kinds_ = detail::classify(digests,
                                  [&](std::uint32_t a, std::uint32_t b) { return alike(a, b); });
        counts_ = std::vector<index_t>(kinds_.representative.size(), 0);
        for (std::uint32_t const kind : kinds_.class_of)
            ++counts_[kind];
    }

    plan_flows(plan_flows const&) = delete; // its parts refer to one another
    plan_flows& operator=(plan_flows const&) = delete;

    constexpr detail::plan_problem const& problem() const { return problem_; }
    constexpr plan_options const& options() const { return options_; }
    constexpr detail::pattern_plan const& patterns() const { return patterns_; }

    /// How many kinds of target tensors there are.
    constexpr std::size_t size() const { return counts_.size(); }
    /// The kind of target tensor `t`.
    constexpr std::uint32_t kind_of(std::size_t t) const { return kinds_.class_of[t]; }
    /// How many target tensors are of that kind.
    constexpr index_t count(std::size_t kind) const { return counts_[kind]; }
    /// One of the target tensors of that kind.
    constexpr std::uint32_t example(std::size_t kind) const { return kinds_.representative[kind]; }

    /// The tree of flows that are relayed, by its number.
    ///
    /// \pre `for_each` has named it
    constexpr detail::relay_tree tree(std::uint32_t number) const {
        return relays_.trees()[number];
    }

    /// What sources send, by who could send it.
    constexpr std::vector<detail::shared_load> loads() const {
        return detail::giver_class_finder(problem_, options_, sources_, targets_, patterns_,
                                          &relays_)
            .find()
            .loads;
    }

    /// Calls `visit(flow)` for each transfer of one tensor of that kind, and for those that other
    /// holders of the same elements could give: all that have them are sources.
    constexpr void for_each_possible(std::size_t kind, auto&& visit) const {
        std::uint32_t const t = example(kind);
        for_each_cut(t, [&](std::size_t, detail::cut_place const& place, index_t bytes) {
            detail::target_side const& target = problem_.targets[t];
            detail::key_id const source = target.pieces->source(place.piece);
            holder_t const taker = options_.process_of(target.shards.holder(place.target_shard));
            if (source == detail::zero_source)
                return;
            detail::shard_index const& index = sources_.of(source);
            std::vector<holder_t> givers; // one that has them twice is one
            for (std::size_t i = 0; i < index.replicas(place.source_box); ++i)
                givers.push_back(options_.process_of(problem_.sources[source].shards.holder(
                    index.replica(place.source_box, i).shard)));
            std::sort(givers.begin(), givers.end());
            givers.erase(std::unique(givers.begin(), givers.end()), givers.end());
            for (holder_t const giver : givers)
                visit(detail::flow{giver, taker, bytes});
        });
    }

    /// Calls `visit(flow)` for each transfer of one tensor of that kind.
    constexpr void for_each(std::size_t kind, auto&& visit) const {
        std::uint32_t const t = example(kind);
        for_each_cut(t, [&](std::size_t cut, detail::cut_place const& place, index_t bytes) {
            holder_t const taker =
                options_.process_of(problem_.targets[t].shards.holder(place.target_shard));
            if (auto const relayed = relays_.find(t, place))
                visit(relayed_flow(*relayed, taker, bytes, place.is_rest));
            else
                visit(
                    detail::flow{process_of_giver(t, cut, taker), taker, bytes, 1, place.is_rest});
        });
    }

private:
    /// Calls `visit(cut, place, bytes)` for what target tensor `t` is cut into.
    constexpr void for_each_cut(std::uint32_t t, auto&& visit) const {
        detail::placed_pattern const& cuts = pattern_of(t);
        for (std::size_t i = 0; i < cuts.size(); ++i) {
            detail::cut_place const& place = cuts.place(i);
            visit(i, place,
                  wire_bytes(problem_, t, place.piece, element_count(cuts.geometry().extent(i))));
        }
    }

    constexpr holder_t process_of_giver(std::uint32_t t, std::size_t cut, holder_t taker) const {
        detail::cut_place const& place = pattern_of(t).place(cut);
        detail::key_id const source = problem_.targets[t].pieces->source(place.piece);
        if (source == detail::zero_source || options_.shared_sources)
            return taker;
        return options_.process_of(
            problem_.sources[source].shards.holder(givers_(patterns_, t, cut).shard));
    }

    /// A flow of a tree: from the taker that passes it on, unless it is the first.
    constexpr detail::flow relayed_flow(detail::relay_place const& at, holder_t taker,
                                        index_t bytes, bool is_rest) const {
        return {options_.process_of(sender_of(tree(at.tree), at.place)),
                taker,
                bytes,
                1,
                is_rest,
                at.tree,
                at.place};
    }

    constexpr data_type wire(std::uint32_t t, std::size_t piece) const {
        detail::key_id const source = problem_.targets[t].pieces->source(piece);
        data_type const target = problem_.targets[t].dtype;
        return source == detail::zero_source
                   ? target
                   : detail::wire_dtype(problem_.sources[source].dtype, target);
    }

    /// Who holds a source how; 0 is nobody, of zeros.
    constexpr std::uint64_t place_of_source(std::uint32_t t, std::size_t piece) const {
        detail::key_id const source = problem_.targets[t].pieces->source(piece);
        return source == detail::zero_source
                   ? 0
                   : std::uint64_t{source_places_[sources_.kinds().spread(source)]} + 1;
    }

    constexpr std::uint64_t digest_of(std::uint32_t t) const {
        detail::hasher digest;
        digest.add(std::uint64_t{patterns_.pattern_of[t]});
        digest.add(std::uint64_t{target_places_[targets_.spread(t)]});
        for_each_choice(t, [&](std::uint32_t choice) { digest.add(std::uint64_t{choice}); });
        for (std::size_t i = 0; i < pieces_of(t); ++i) {
            digest.add(place_of_source(t, i));
            digest.add(static_cast<std::uint64_t>(bits(wire(t, i))));
            digest.add(std::uint64_t{is_wire_type(t, i)});
        }
        return digest.value();
    }

    constexpr bool alike(std::uint32_t a, std::uint32_t b) const {
        if (patterns_.pattern_of[a] != patterns_.pattern_of[b] ||
            target_places_[targets_.spread(a)] != target_places_[targets_.spread(b)] ||
            pieces_of(a) != pieces_of(b) || !same_choices(a, b))
            return false;
        for (std::size_t i = 0; i < pieces_of(a); ++i)
            if (place_of_source(a, i) != place_of_source(b, i) ||
                bits(wire(a, i)) != bits(wire(b, i)) || is_wire_type(a, i) != is_wire_type(b, i))
                return false;
        return true;
    }

    /// Nothing else may be passed on; without relays, tensors do not differ in it.
    constexpr bool is_wire_type(std::uint32_t t, std::size_t piece) const {
        return !options_.relays || wire(t, piece) == problem_.targets[t].dtype;
    }

    /// What givers of a tensor depend on beside who holds it.
    constexpr void for_each_choice(std::uint32_t t, auto&& visit) const {
        visit(turns_.first(t));
        for (std::size_t i = 0; patterns_.givers.has(t) && i < pattern_of(t).size(); ++i)
            visit(std::uint32_t{patterns_.replica(t, i)});
    }

    /// \pre the tensors have one pattern
    constexpr bool same_choices(std::uint32_t a, std::uint32_t b) const {
        detail::giver_table const& givers = patterns_.givers;
        if (turns_.first(a) != turns_.first(b) || givers.has(a) != givers.has(b))
            return false;
        for (std::size_t i = 0; givers.has(a) && i < pattern_of(a).size(); ++i)
            if (patterns_.replica(a, i) != patterns_.replica(b, i))
                return false;
        return true;
    }

    constexpr detail::placed_pattern const& pattern_of(std::uint32_t t) const {
        return patterns_.patterns[patterns_.pattern_of[t]];
    }

    constexpr std::size_t pieces_of(std::uint32_t t) const {
        return problem_.targets[t].pieces->size();
    }

    detail::plan_problem const& problem_;
    plan_options options_;
    detail::source_indices sources_;
    detail::shard_kinds targets_;
    bool is_balanced_;
    detail::target_turns turns_;
    detail::giver_finder givers_;
    mutable detail::relay_finder relays_; ///< remembers what it has found
    detail::pattern_plan patterns_;
    std::vector<std::uint32_t> source_places_; ///< by spread
    std::vector<std::uint32_t> target_places_;
    detail::equal_classes kinds_;
    std::vector<index_t> counts_;
};

/// What all transfers cost, over `processes` processes: as `cost_of(plan)`, in time that does not
/// depend on how many equal tensors there are.
///
/// \par Units bytes and messages
/// \pre `options.process_of(h) < processes` for every holder `h`
/// \throws error with errc::overflow when all bytes together do not fit 64 bits
constexpr plan_cost cost_of(plan_flows const& flows, holder_t processes) {
    detail::cost_counter counter(processes);
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](detail::flow one) {
            one.count = flows.count(kind);
            counter.add(one);
        });
    return std::move(counter).cost();
}

} // namespace reshard

#endif
