// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_FLOWS_HPP
#define RESHARD_PLAN_FLOWS_HPP

#include <reshard/copy/choose.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/make_patterns.hpp>
#include <reshard/plan/sender_classes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

/// \file
/// The flows between processes, from patterns: equal tensors are counted, not listed.

namespace reshard {

namespace detail {

/// By spread: a number that is equal for spreads with equal boxes and equal holders.
constexpr vector<std::uint32_t> same_holders(shard_kinds const& kinds) {
    auto const& spreads = kinds.spreads();
    auto const visit_key = [&](std::uint32_t spread, auto&& visit) {
        visit(kinds.kind(spread));
        for (std::size_t shard = 0; spreads[spread] && shard < spreads[spread].size(); ++shard)
            visit(spreads[spread].holder(shard));
    };
    return classify_by_key(spreads.size(), visit_key).class_of;
}

} // namespace detail

/// Groups target tensors into kinds. Each tensor of a kind costs each process the same.
///
/// Refers to the problem that it was made from, which must outlive it.
class plan_flows {
public:
    /// Plans for all holders.
    ///
    /// \throws the errors of `make_plan`
    constexpr explicit plan_flows(detail::plan_problem const& problem,
                                  plan_options const& options = {})
        : problem_(problem),
          cuts_(problem, {}, options),
          source_places_(detail::same_holders(cuts_.sources.kinds())),
          target_places_(detail::same_holders(cuts_.targets)) {
        kinds_ = detail::classify_by_key(
            problem.targets.size(), [&](std::uint32_t t, auto&& visit) { visit_key(t, visit); });
        counts_ = vector<index_t>(kinds_.representative.size(), 0);
        for (std::uint32_t const kind : kinds_.class_of)
            ++counts_[kind];
    }

    constexpr detail::plan_problem const& problem() const { return problem_; }
    /// The options, with `relays()` replaced by the choice: relays or balanced senders.
    constexpr plan_options const& options() const { return cuts_.options; }
    constexpr detail::pattern_plan const& patterns() const { return cuts_.patterns; }

    /// The number of kinds of target tensors.
    constexpr std::size_t size() const { return counts_.size(); }
    /// The kind of target tensor `t`.
    constexpr std::uint32_t kind_of(std::size_t t) const { return kinds_.class_of[t]; }
    /// The number of target tensors of a kind.
    constexpr index_t count(std::size_t kind) const { return counts_[kind]; }
    /// A target tensor of a kind.
    constexpr std::uint32_t example(std::size_t kind) const { return kinds_.representative[kind]; }

    /// The relay tree with this number.
    ///
    /// \pre a flow of `for_each` has that number
    constexpr detail::relay_tree tree(std::uint32_t number) const {
        return cuts_.relays->trees()[number];
    }

    /// The bytes that sources send, grouped by their possible senders.
    constexpr vector<detail::shared_load> loads() const {
        return detail::sender_class_finder(problem_, options(), cuts_.sources, cuts_.targets,
                                           cuts_.patterns, cuts_.relays)
            .find()
            .loads;
    }

    /// Calls `visit(flow)` for each possible transfer of a tensor of that kind: each holder of the
    /// elements may be the source.
    constexpr void for_each_possible(std::size_t kind, auto&& visit) const {
        std::uint32_t const t = example(kind);
        for_each_cut(t, [&](std::size_t, detail::cut_place const& cut, index_t bytes) {
            detail::target_side const& target = problem_.targets[t];
            detail::key_id const source = target.pieces->source(cut.piece);
            holder_t const receiver = options().process_of(target.shards.holder(cut.target_shard));
            if (source == detail::zero_source)
                return;
            auto const process_of = [&](holder_t holder) { return options().process_of(holder); };
            for (holder_t const sender :
                 cuts_.sources.senders_of(source, cut.source_box, process_of))
                visit(detail::flow{sender, receiver, bytes});
        });
    }

    /// Calls `visit(flow)` for each transfer of a tensor of that kind. `runs` is set if `has_runs`,
    /// except for relayed elements.
    constexpr void for_each(std::size_t kind, auto&& visit, bool has_runs = false) const {
        std::uint32_t const t = example(kind);
        for_each_cut(t, [&](std::size_t cut, detail::cut_place const& cut_place, index_t bytes) {
            holder_t const receiver =
                options().process_of(problem_.targets[t].shards.holder(cut_place.target_shard));
            if (auto const relayed = cuts_.find_relay(t, cut_place))
                visit(relayed_flow(*relayed, receiver, bytes, cut_place.is_rest));
            else
                visit(detail::flow{.source = process_of_sender(t, cut, receiver),
                                   .target = receiver,
                                   .bytes = bytes,
                                   .is_rest = cut_place.is_rest,
                                   .runs = has_runs ? runs_of(t, cut) : 0});
        });
    }

private:
    /// Calls `visit(cut, place, bytes)` for each cut of target tensor `t`.
    constexpr void for_each_cut(std::uint32_t t, auto&& visit) const {
        detail::placed_pattern const& cuts = pattern_of(t);
        for (std::size_t i = 0; i < cuts.size(); ++i) {
            detail::cut_place const& cut = cuts.place(i);
            visit(i, cut, wire_bytes(problem_, t, cut.piece, cuts.geometry().elements(i)));
        }
    }

    constexpr holder_t process_of_sender(std::uint32_t t, std::size_t cut,
                                         holder_t receiver) const {
        detail::cut_place const& cut_place = pattern_of(t).place(cut);
        detail::key_id const source = problem_.targets[t].pieces->source(cut_place.piece);
        if (source == detail::zero_source || options().shared_sources)
            return receiver;
        return options().process_of(
            problem_.sources[source].shards.holder(cuts_.senders(cuts_.patterns, t, cut).shard));
    }

    /// The number of runs of a cut that are contiguous on both sides, if the memory of shards is
    /// row-major and dense. 0 if the cut is zeros, or is transposed: a transpose moves tiles.
    constexpr index_t runs_of(std::uint32_t t, std::size_t cut) const {
        auto const [geometry, at] = pattern_of(t)[cut];
        detail::target_side const& target = problem_.targets[t];
        detail::key_id const source = target.pieces->source(at.piece);
        if (source == detail::zero_source)
            return 0;
        // Replicas of a box have the same memory layout.
        detail::tensor_shards const& given = problem_.sources[source].shards;
        std::uint32_t const sender = cuts_.sources.of(source).replica(at.source_box, 0).shard;
        detail::affine_copy const loop = detail::fuse(
            {geometry.loop_extent(), 0,
             geometry.source_strides(strides_of(given, sender), given.cycles(sender)), 0,
             geometry.target_strides(strides_of(target.shards, at.target_shard),
                                     target.shards.cycles(at.target_shard))});
        index_t const elements = element_count(loop);
        if (elements == 0 || detail::is_transposed(loop))
            return 0;
        return loop.ndim() > 0 && detail::has_rows(loop) ? elements / loop.extent.end()[-1]
                                                         : elements;
    }

    static constexpr index_vector strides_of(detail::tensor_shards const& shards,
                                             std::size_t shard) {
        box const region = shards.region(shard);
        return row_major_strides(shards.flat(shard) ? region.shape
                                                    : held_shape(region, shards.cycles(shard)));
    }

    /// A flow of a tree. The sender is the receiver that passes the elements on; for the tree's
    /// first receiver, it is the source.
    constexpr detail::flow relayed_flow(detail::relay_place const& at, holder_t receiver,
                                        index_t bytes, bool is_rest) const {
        return {options().process_of(sender_of(tree(at.tree), at.position)),
                receiver,
                bytes,
                1,
                is_rest,
                at.tree,
                at.position};
    }

    /// A number for the spread of a source and its holders; 0 for zeros, which nobody holds.
    constexpr std::uint64_t place_of_source(std::uint32_t t, std::size_t piece) const {
        detail::key_id const source = problem_.targets[t].pieces->source(piece);
        return source == detail::zero_source
                   ? 0
                   : std::uint64_t{source_places_[cuts_.sources.kinds().spread(source)]} + 1;
    }

    /// Calls `visit(number)` for each number that affects how much a target tensor costs each
    /// process.
    constexpr void visit_key(std::uint32_t t, auto&& visit) const {
        bool const is_balanced = cuts_.patterns.senders.has(t);
        visit(cuts_.patterns.pattern_of[t]);
        visit(target_places_[cuts_.targets.spread(t)]);
        visit(cuts_.turns.first(t));
        visit(cuts_.turns.stripes().first(t));
        visit(is_balanced);
        for (std::size_t i = 0; is_balanced && i < pattern_of(t).size(); ++i)
            visit(cuts_.patterns.replica(t, i));
        for (std::size_t i = 0; i < problem_.targets[t].pieces->size(); ++i) {
            visit(place_of_source(t, i));
            visit(static_cast<std::uint64_t>(bits(wire_dtype(problem_, t, i))));
            visit(is_wire_type(t, i));
        }
    }

    /// Relays may pass on only elements of the wire type. Without relays, the result is always
    /// true.
    constexpr bool is_wire_type(std::uint32_t t, std::size_t piece) const {
        return !options().between_nodes.has_relays() ||
               wire_dtype(problem_, t, piece) == problem_.targets[t].dtype;
    }

    constexpr detail::placed_pattern const& pattern_of(std::uint32_t t) const {
        return cuts_.patterns.patterns[cuts_.patterns.pattern_of[t]];
    }

    detail::plan_problem const& problem_;
    // Mutable as a whole, because a constant plan may not read mutable members.
    mutable detail::given_cuts cuts_;     ///< the relay finder remembers its results
    vector<std::uint32_t> source_places_; ///< by spread
    vector<std::uint32_t> target_places_;
    detail::equal_classes kinds_;
    vector<index_t> counts_;
};

/// The cost of all transfers between `processes` processes. The result is `cost_of(plan)`, but the
/// time does not depend on the number of equal tensors.
///
/// \par Units bytes and messages
/// \pre `options.process_of(h) < processes` for every holder `h`
/// \throws error with errc::overflow if the sum of all bytes exceeds 64 bits
constexpr plan_cost cost_of(plan_flows const& flows, holder_t processes) {
    detail::cost_counter counter(processes);
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](detail::flow flow) {
            flow.count = flows.count(kind);
            counter.add(flow);
        });
    return std::move(counter).cost();
}

} // namespace reshard

#endif
