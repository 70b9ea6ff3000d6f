// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_CUT_LIST_HPP
#define RESHARD_PLAN_CUT_LIST_HPP

#include <reshard/copy/choose.hpp>
#include <reshard/expr/cut_piece.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/plan/pattern_plan.hpp>
#include <reshard/plan/source_indices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// All cuts of one target tensor: its shards, intersected with its pieces and with the source's
/// shards; and, where all shards are dense and computed, the copies that the cuts come to.

namespace reshard::detail {

/// One target tensor with everything that is looked up for it.
class cut_finder {
public:
    constexpr cut_finder(plan_problem const& problem, target_side const& target,
                         source_indices const& sources)
        : problem_(problem),
          target_(target),
          pieces_(target.pieces->target_boxes()),
          sources_(sources) {}

    /// Everything that target shard `shard` is made of.
    ///
    /// \throws error with errc::not_covered when nobody holds some of it, naming the rank that
    ///         wants it
    constexpr void find_sources_of(std::uint32_t shard, placed_pattern& cuts) const {
        bool const is_flat = target_.shards.flat(shard).has_value();
        std::uint8_t number = 0;
        target_.shards.for_each_box(shard, [&](box const& region) {
            std::size_t const first = cuts.size();
            if (!is_empty(region))
                pieces_.for_each_overlap(region, [&](std::uint32_t piece, box const& common) {
                    add_sources({piece, 0, shard, number}, common, cuts);
                });
            check_covered(shard, region, cuts, first);
            number = static_cast<std::uint8_t>(number + is_flat);
        });
    }

    /// What source box `source_box` of tensor `source` gives to the target shards that `wanted`
    /// accepts.
    constexpr void find_targets_of(key_id source, std::uint32_t source_box,
                                   shard_index const& targets, auto&& wanted,
                                   placed_pattern& cuts) const {
        sources_.of(source).for_each_block_of(source_box, [&](box const& held) {
            find_targets_of_block({source, source_box}, held, targets, wanted, cuts);
        });
    }

private:
    /// A box of a source by its numbers.
    struct source_place {
        key_id source;
        std::uint32_t box;
    };

    constexpr void find_targets_of_block(source_place from, box const& held,
                                         shard_index const& targets, auto&& wanted,
                                         placed_pattern& cuts) const {
        for (std::uint32_t i = 0; i < target_.pieces->size(); ++i) {
            if (target_.pieces->source(i) != from.source)
                continue;
            piece const whole = (*target_.pieces)[i];
            auto const given = intersect(held, whole.source_box());
            if (!given)
                continue;
            auto const add = [&](std::uint32_t target_box, box const& common) {
                auto const region =
                    intersect(targets.block_at(target_box, common.offset), whole.target_box());
                cut_between(whole, *region, held, [&](cut const& geometry) {
                    for (std::size_t which = 0; which < targets.replicas(target_box); ++which)
                        if (shard_part const at = targets.replica(target_box, which);
                            wanted(at.shard))
                            cuts.push_back({geometry, {i, from.box, at.shard, at.part}});
                });
            };
            targets.for_each_overlap(reach_of(whole, *given), add);
        }
    }

    static constexpr cut geometry_of(piece const& p) {
        return {p.order, p.source_offset, p.target_offset, p.extent, p.joins};
    }

    /// What a box of the source gives to one of the target: cut to the target first, as the
    /// receiver does, or the two would not cut alike.
    static constexpr void cut_between(piece const& whole, box const& target, box const& source,
                                      auto&& take) {
        cut_to_target(whole, target, [&](piece const& p) {
            if (auto const common = intersect(p.source_box(), source))
                cut_to_source(p, *common, [&](piece const& one) { take(geometry_of(one)); });
        });
    }

    /// A box of the target that holds all that comes from `region` of the source.
    static constexpr box reach_of(piece const& whole, box const& region) {
        box reach;
        cut_to_source(whole, region, [&](piece const& p) {
            reach = reach.ndim() == 0 ? p.target_box() : hull(reach, p.target_box());
        });
        return reach;
    }

    constexpr void add_sources(cut_place place, box const& region, placed_pattern& cuts) const {
        cut_to_target((*target_.pieces)[place.piece], region, [&](piece const& p) {
            if (p.source == zero_source) {
                cuts.push_back({geometry_of(p), place});
                return;
            }
            shard_index const& held = sources_.of(p.source);
            held.for_each_overlap(p.source_box(), [&](std::uint32_t i, box const& common) {
                place.source_box = i;
                cut_to_source(p, common, [&](piece const& one) {
                    cuts.push_back({geometry_of(one), place});
                });
            });
        });
    }

    constexpr void check_covered(std::uint32_t shard, box const& region, placed_pattern const& cuts,
                                 std::size_t first) const {
        index_t found = 0;
        for (std::size_t i = first; i < cuts.size(); ++i)
            found += element_count(cuts.geometry().extent(i));
        if (found != element_count(region))
            fail_not_covered(shard, region, cuts, first);
    }

    [[noreturn]] void fail_not_covered(std::uint32_t shard, box const& region,
                                       placed_pattern const& cuts, std::size_t first) const;

    plan_problem const& problem_;
    target_side const& target_;
    box_index pieces_;
    source_indices const& sources_;
};

/// One copy from a shard to another.
///
/// \par Units bytes, from the first of each shard
struct typed_move {
    holder_t source_holder = no_holder; ///< `no_holder`: zeros
    holder_t target_holder = 0;
    std::uint32_t operand = 0; ///< which of the sources of the expression
    std::uint32_t copy = 0;    ///< which of the copies
    index_t source_bytes = 0;
    index_t target_bytes = 0;

    constexpr bool operator==(typed_move const&) const = default;
};

/// The moves of a tensor, those of one copy behind each other.
struct move_list {
    std::vector<typed_move> moves;
    std::vector<constant_copy> copies;
};

/// Finds the moves of the one target of a problem, all of whose shards are computed.
class move_finder {
public:
    constexpr explicit move_finder(plan_problem const& problem)
        : problem_(problem), target_(problem.targets[0]), sources_(problem) {}

    /// \throws error with errc::not_covered, errc::overlap as `make_plan`
    constexpr move_list find() && {
        cut_finder const finder(problem_, target_, sources_);
        placed_pattern cuts(target_.shards.ndim());
        for (std::uint32_t shard = 0; shard < target_.shards.size(); ++shard)
            finder.find_sources_of(shard, cuts);
        for (std::size_t i = 0; i < cuts.size(); ++i)
            add(cuts[i]);
        move_list result{{}, std::move(copies_)};
        for (std::vector<typed_move> const& alike : moves_)
            result.moves.insert(result.moves.end(), alike.begin(), alike.end());
        return result;
    }

private:
    constexpr void add(placed_cut const& one) {
        piece const whole = (*target_.pieces)[one.at.piece];
        typed_move move{.target_holder = target_.shards.holder(one.at.target_shard)};
        affine_copy loop{one.geometry.extent, 0, {}, 0, {}};
        write_end(one, loop);
        data_type source = target_.dtype;
        if (whole.source == zero_source) {
            loop.source_strides = index_vector::filled(loop.ndim(), 0);
        } else {
            move.operand = whole.source;
            move.source_holder = read_end(one, loop, move.target_holder);
            source = problem_.sources[whole.source].dtype;
        }
        push_back(move, fuse(loop), {source, whole.casts});
    }

    /// Where the elements go.
    constexpr void write_end(placed_cut const& one, affine_copy& loop) const {
        box const held = target_.shards.region(one.at.target_shard);
        index_vector const strides = row_major_strides(held.shape);
        loop.target_offset = offset_in(held, one.geometry.target_offset, strides);
        loop.target_strides = one.geometry.target_strides(strides);
    }

    /// Where they come from, and whose they are.
    constexpr holder_t read_end(placed_cut const& one, affine_copy& loop, holder_t target) const {
        key_id const operand = target_.pieces->source(one.at.piece);
        shard_index const& index = sources_.of(operand);
        tensor_shards const& shards = problem_.sources[operand].shards;
        std::uint32_t const which = one.at.source_box;
        std::uint32_t const shard =
            index.replica(which, index.choose(which, shards, target, one.at.target_shard, {}))
                .shard;
        box const held = shards.region(shard);
        index_vector const strides = row_major_strides(held.shape);
        loop.source_offset = offset_in(held, one.geometry.source_offset, strides);
        loop.source_strides = one.geometry.source_strides(strides);
        return shards.holder(shard);
    }

    static constexpr index_t offset_in(box const& held, index_vector at,
                                       index_vector const& strides) {
        for (std::size_t axis = 0; axis < at.size(); ++axis)
            at[axis] -= held.offset[axis];
        return linear_offset(at, strides);
    }

    /// Takes whole bytes out of the offsets, so that copies that differ in nothing else are one.
    constexpr void push_back(typed_move move, affine_copy loop, element_conversion conversion) {
        byte_place const from = byte_place_of(loop.source_offset, conversion.source);
        byte_place const to = byte_place_of(loop.target_offset, conversion.target());
        loop.source_offset = from.rest;
        loop.target_offset = to.rest;
        move.source_bytes = from.bytes;
        move.target_bytes = to.bytes;
        constant_copy const copy{loop, conversion};
        auto const place = std::find(copies_.begin(), copies_.end(), copy) - copies_.begin();
        move.copy = static_cast<std::uint32_t>(place);
        if (move.copy == copies_.size()) {
            copies_.push_back(copy);
            moves_.emplace_back();
        }
        moves_[move.copy].push_back(move);
    }

    plan_problem const& problem_;
    target_side const& target_;
    source_indices sources_;
    std::vector<constant_copy> copies_;
    std::vector<std::vector<typed_move>> moves_; ///< by copy
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/cut_list.ipp>
#endif

#endif
