// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_CUT_LIST_HPP
#define RESHARD_PLAN_CUT_LIST_HPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/cut_piece.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/plan/cyclic_cuts.hpp>
#include <reshard/plan/pattern_plan.hpp>
#include <reshard/plan/source_indices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// \file
/// All cuts of one target tensor: its shards, intersected with its pieces and with the source's
/// shards. If all shards are computed, also the senders of the cuts.

namespace reshard::detail {

/// Finds the cuts of one target tensor.
class cut_finder {
public:
    constexpr cut_finder(plan_problem const& problem, target_side const& target,
                         source_indices const& sources)
        : problem_(problem),
          target_(target),
          pieces_(target.pieces->target_boxes()),
          sources_(sources) {
        if (!target.shards.are_whole())
            return;
        for (std::uint32_t i = 0; i < target.pieces->size(); ++i) {
            piece const piece = (*target.pieces)[i];
            if (piece.source == zero_source || piece.joins.any())
                continue;
            shard_index const& index = sources.of(piece.source);
            if (index.has_whole_shards() && (index.has_cycles() || target.shards.have_cycles()))
                cyclic_.push_back(i);
        }
    }

    /// Finds all cuts of target shard `shard`.
    ///
    /// \throws error with errc::not_covered, naming the rank that wants the shard, if nobody holds
    ///         some of its elements
    constexpr void find_sources_of(std::uint32_t shard, placed_pattern& cuts) const {
        if (!cyclic_.empty()) {
            std::size_t const first = cuts.size();
            for (std::uint32_t const i : cyclic_)
                add_cyclic_sources(i, shard, cuts);
            if (cyclic_.size() < target_.pieces->size())
                add_boxes(shard, cuts, true);
            if (elements_from(cuts, first) == target_.shards.elements(shard))
                return;
            placed_pattern boxes(cuts.geometry().ndim());
            return add_boxes(shard, boxes, false); // which names the missing elements
        }
        add_boxes(shard, cuts, false);
    }

    /// Finds the cuts between source box `source_box` of tensor `source` and the target shards that
    /// `wanted` accepts.
    constexpr void find_targets_of(key_id source, std::uint32_t source_box,
                                   shard_index const& targets, auto&& wanted,
                                   placed_pattern& cuts) const {
        for (std::uint32_t const i : cyclic_)
            if (target_.pieces->source(i) == source)
                add_cyclic_targets(i, source_box, targets, wanted, cuts);
        if (cyclic_.size() < target_.pieces->size())
            sources_.of(source).for_each_block_of(source_box, [&](box const& box) {
                find_targets_of_block({source, source_box}, box, targets, wanted, cuts);
            });
    }

private:
    /// A box of a source, by numbers.
    struct source_place {
        key_id source;
        std::uint32_t box;
    };

    constexpr void find_targets_of_block(source_place from, box const& held_box,
                                         shard_index const& targets, auto&& wanted,
                                         placed_pattern& cuts) const {
        for (std::uint32_t i = 0; i < target_.pieces->size(); ++i) {
            if (target_.pieces->source(i) != from.source || is_cyclic(i))
                continue;
            piece const piece = (*target_.pieces)[i];
            auto const source = intersect(held_box, piece.source_box());
            if (!source)
                continue;
            auto const add = [&](std::uint32_t target_box, box const& common) {
                auto const region =
                    intersect(targets.block_at(target_box, common.offset), piece.target_box());
                cut_between(piece, *region, held_box, [&](cut const& geometry) {
                    for (std::size_t which = 0; which < targets.replicas(target_box); ++which)
                        if (shard_part const at = targets.replica(target_box, which);
                            wanted(at.shard))
                            cuts.push_back({geometry, {i, from.box, at.shard, at.part}});
                });
            };
            targets.for_each_overlap(reach_of(piece, *source), add);
        }
    }

    constexpr bool is_cyclic(std::uint32_t piece) const {
        return std::binary_search(cyclic_.begin(), cyclic_.end(), piece);
    }

    constexpr void add_cyclic_sources(std::uint32_t number, std::uint32_t shard,
                                      placed_pattern& cuts) const {
        piece const piece = (*target_.pieces)[number];
        box const region = target_.shards.region(shard);
        axis_cycles const cycles = target_.shards.cycles(shard);
        shard_index const& index = sources_.of(piece.source);
        for (std::uint32_t i = 0; i < index.size(); ++i)
            cut_cyclic(piece, region, cycles, index[i], index.cycles(i), [&](cut const& geometry) {
                cuts.push_back({geometry, {number, i, shard}});
            });
    }

    constexpr void add_cyclic_targets(std::uint32_t number, std::uint32_t source_box,
                                      shard_index const& targets, auto&& wanted,
                                      placed_pattern& cuts) const {
        piece const piece = (*target_.pieces)[number];
        shard_index const& index = sources_.of(piece.source);
        box const held_box = index[source_box];
        axis_cycles const cycles = index.cycles(source_box);
        for (std::uint32_t i = 0; i < targets.size(); ++i)
            cut_cyclic(
                piece, targets[i], targets.cycles(i), held_box, cycles, [&](cut const& geometry) {
                    for (std::size_t which = 0; which < targets.replicas(i); ++which)
                        if (shard_part const at = targets.replica(i, which); wanted(at.shard))
                            cuts.push_back({geometry, {number, source_box, at.shard}});
                });
    }

    /// Adds the cuts of pieces that are not block-cyclic, box by box.
    ///
    /// \param skips omits pieces that are block-cyclic on either side, and checks nothing
    constexpr void add_boxes(std::uint32_t shard, placed_pattern& cuts, bool skips) const {
        bool const is_flat = target_.shards.flat(shard).has_value();
        std::uint8_t number = 0;
        target_.shards.for_each_box(shard, [&](box const& region) {
            std::size_t const first = cuts.size();
            if (!is_empty(region))
                pieces_.for_each_overlap(region, [&](std::uint32_t piece, box const& common) {
                    if (!skips || !is_cyclic(piece))
                        add_sources({piece, 0, shard, number}, common, cuts);
                });
            if (!skips && elements_from(cuts, first) != element_count(region))
                fail_not_covered(shard, region, cuts, first);
            number = static_cast<std::uint8_t>(number + is_flat);
        });
    }

    static constexpr index_t elements_from(placed_pattern const& cuts, std::size_t first) {
        index_t sum = 0;
        for (std::size_t i = first; i < cuts.size(); ++i)
            sum += cuts.geometry().elements(i);
        return sum;
    }

    static constexpr cut geometry_of(piece const& p) {
        return {p.order, p.source_offset, p.target_offset, p.extent, p.joins};
    }

    /// Calls `take` for the elements that a source box sends to a target box. They are cut to the
    /// target first, as on the receiver, so that both sides cut in the same way.
    static constexpr void cut_between(piece const& whole_piece, box const& target,
                                      box const& source, auto&& take) {
        cut_to_target(whole_piece, target, [&](piece const& p) {
            if (auto const common = intersect(p.source_box(), source))
                cut_to_source(p, *common, [&](piece const& piece) { take(geometry_of(piece)); });
        });
    }

    /// A box of the target that contains every element from `region` of the source.
    static constexpr box reach_of(piece const& whole_piece, box const& region) {
        box reach;
        cut_to_source(whole_piece, region, [&](piece const& p) {
            reach = reach.ndim() == 0 ? p.target_box() : hull(reach, p.target_box());
        });
        return reach;
    }

    constexpr void add_sources(cut_place cut, box const& region, placed_pattern& cuts) const {
        cut_to_target((*target_.pieces)[cut.piece], region, [&](piece const& p) {
            if (p.source == zero_source) {
                cuts.push_back({geometry_of(p), cut});
                return;
            }
            shard_index const& index = sources_.of(p.source);
            index.for_each_overlap(p.source_box(), [&](std::uint32_t i, box const& common) {
                cut.source_box = i;
                cut_to_source(p, common, [&](piece const& piece) {
                    cuts.push_back({geometry_of(piece), cut});
                });
            });
        });
    }

    [[noreturn]] void fail_not_covered(std::uint32_t shard, box const& region,
                                       placed_pattern const& cuts, std::size_t first) const;

    plan_problem const& problem_;
    target_side const& target_;
    box_index pieces_;
    source_indices const& sources_;
    vector<std::uint32_t> cyclic_; ///< pieces that are block-cyclic on either side, ascending
};

/// A cut without the offsets of its two boxes. Many transfers of a tensor share a form.
struct cut_form {
    permutation order;
    index_vector extent;
    axis_joins joins;
    axis_repeats repeats;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.order, self.extent, self.joins, self.repeats);
    }
    constexpr index_t elements() const {
        return element_count(extent) * (repeats.any() ? element_count(repeats.count) : 1);
    }
    constexpr bool operator==(cut_form const&) const = default;
};

/// The elements of a source that one rank sends to another for a target tensor. A typed transfer
/// refers to kinds of tensors, not to keys.
///
/// \par Units elements of the global tensors, row by row
struct typed_transfer {
    holder_t source_holder = no_holder; ///< `no_holder`: zeros
    holder_t target_holder = 0;
    std::uint32_t operand = 0;      ///< index in the sources of the expression
    std::uint32_t source_shard = 0; ///< index in the shards of all ranks, here and below
    std::uint32_t target_shard = 0;
    std::uint16_t form = 0;
    std::uint16_t chain = 0;
    std::uint8_t source_part = 0; ///< number of a box of a flat shard, here and below
    std::uint8_t target_part = 0;
    index_t source_first = 0;
    index_t target_first = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.source_holder, self.target_holder, self.operand, self.source_shard,
              self.target_shard, self.form, self.chain, self.source_part, self.target_part,
              self.source_first, self.target_first);
    }
    constexpr bool operator==(typed_transfer const&) const = default;
};

/// All transfers of one kind of tensor, in the order of a `plan`.
struct kind_transfers {
    vector<typed_transfer> transfers;
    vector<cut_form> forms;
    vector<step_chain> chains;
};

/// The same transfers, as constants.
struct pattern_content {
    std::span<typed_transfer const> transfers;
    std::span<cut_form const> forms;
    std::span<step_chain const> chains;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.transfers, self.forms, self.chains);
    }

    /// The geometry of a transfer.
    ///
    /// \param source the shape of its source tensor; ignored for zeros
    constexpr cut cut_of(typed_transfer const& t, index_vector const& source,
                         index_vector const& target) const {
        cut_form const& form = forms[t.form];
        return {form.order,
                t.source_holder == no_holder ? index_vector::filled(target.size(), 0)
                                             : unravel_index(t.source_first, source),
                unravel_index(t.target_first, target),
                form.extent,
                form.joins,
                form.repeats};
    }
};

/// Plans a problem with one target.
class kind_planner {
public:
    /// \param shapes of the sources, followed by the target's
    constexpr kind_planner(plan_problem const& problem, vector<index_vector> const& shapes)
        : problem_(problem), shapes_(shapes), target_(problem.targets[0]), sources_(problem) {}

    /// \throws the errors of `make_plan`
    constexpr kind_transfers find() && {
        cut_finder const finder(problem_, target_, sources_);
        placed_pattern cuts(target_.shards.ndim());
        for (std::uint32_t shard = 0; shard < target_.shards.size(); ++shard)
            finder.find_sources_of(shard, cuts);
        cuts.sort();
        for (std::size_t i = 0; i < cuts.size(); ++i)
            add(cuts[i]);
        return std::move(result_);
    }

private:
    constexpr void add(placed_cut const& cut) {
        piece const piece = (*target_.pieces)[cut.at.piece];
        typed_transfer transfer{.target_holder = target_.shards.holder(cut.at.target_shard),
                                .target_shard = cut.at.target_shard,
                                .form = number_of({cut.geometry.order, cut.geometry.extent,
                                                   cut.geometry.joins, cut.geometry.repeats}),
                                .chain = chain_number(result_.chains, piece.steps),
                                .target_part = cut.at.target_part,
                                .target_first =
                                    ravel_index(cut.geometry.target_offset, shapes_.back())};
        if (piece.source != zero_source)
            choose_source(cut, piece.source, transfer);
        result_.transfers.push_back(transfer);
    }

    /// If several holders have the same elements, the target's own copy is preferred; otherwise the
    /// holders take turns.
    constexpr void choose_source(placed_cut const& cut, key_id operand,
                                 typed_transfer& transfer) const {
        shard_index const& index = sources_.of(operand);
        tensor_shards const& shards = problem_.sources[operand].shards;
        std::uint32_t const box = cut.at.source_box;
        transfer.operand = operand;
        shard_part const from = index.replica(
            box, index.choose(box, shards, transfer.target_holder, transfer.target_shard, {}));
        transfer.source_shard = from.shard;
        transfer.source_part = from.part;
        transfer.source_holder = shards.holder(transfer.source_shard);
        transfer.source_first = ravel_index(cut.geometry.source_offset, shapes_[operand]);
    }

    constexpr std::uint16_t number_of(cut_form const& form) {
        auto const position = std::find(result_.forms.begin(), result_.forms.end(), form);
        auto const number = static_cast<std::uint16_t>(position - result_.forms.begin());
        if (position == result_.forms.end())
            result_.forms.push_back(form);
        return number;
    }

    plan_problem const& problem_;
    vector<index_vector> const& shapes_;
    target_side const& target_;
    source_indices sources_;
    kind_transfers result_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/cut_list.ipp>
#endif

#endif
