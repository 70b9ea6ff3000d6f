// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_MOVE_LIST_HPP
#define RESHARD_PLAN_MOVE_LIST_HPP

#include <reshard/copy/choose.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/plan/cut_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// The plan of one tensor down to addresses, where all shards are dense: nothing is left to do but
/// to copy.

namespace reshard::detail {

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
        loop.target_strides = factor_strides(strides, loop.extent, one.geometry.joins.target);
    }

    /// Where they come from, and whose they are.
    constexpr holder_t read_end(placed_cut const& one, affine_copy& loop, holder_t target) const {
        key_id const operand = target_.pieces->source(one.at.piece);
        shard_index const& index = sources_.of(operand);
        tensor_shards const& shards = problem_.sources[operand].shards;
        std::uint32_t const which = one.at.source_box;
        std::uint32_t const shard =
            index.replica(which, index.choose(which, shards, target, {})).shard;
        box const held = shards.region(shard);
        index_vector const strides = row_major_strides(held.shape);
        cut const& geometry = one.geometry;
        loop.source_offset = offset_in(held, geometry.source_offset, strides);
        loop.source_strides = geometry.order.apply(
            factor_strides(strides, geometry.order.undo(loop.extent), geometry.joins.source));
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

#endif
