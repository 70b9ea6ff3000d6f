// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PIECE_HPP
#define RESHARD_EXPR_PIECE_HPP

#include <reshard/core/cast_chain.hpp>
#include <reshard/core/factor_rows.hpp>
#include <reshard/core/index_rows.hpp>
#include <reshard/core/permutation.hpp>
#include <reshard/core/short_list.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdint>

/// \file
/// What every program ends as: a box of a source tensor that is a box of a target tensor.

namespace reshard {

/// The number of a source tensor: its place in whatever list the expressions were made from.
using key_id = std::uint32_t;

/// The source of a piece that is no tensor: zeros.
inline constexpr key_id zero_source = 0xffffffff;

/// A box of a target tensor and where its elements come from.
///
/// The axes of both boxes are made of the same factors. Without a reshape, `joins` is empty, and
/// each factor is an axis.
///
/// \par Units  elements, in global coordinates of the two tensors
struct piece {
    key_id source = zero_source;
    data_type stored{}; ///< the data type in which the source holds the elements
    permutation order;  ///< target factor `j` is source factor `order[j]`
    cast_chain casts;
    index_vector source_offset;
    index_vector target_offset;
    index_vector extent; ///< of the factors, in the order of the target
    axis_joins joins = {};

    constexpr box target_box() const {
        return {target_offset, detail::joined_extents(extent, joins.target)};
    }
    constexpr box source_box() const {
        return {source_offset, detail::joined_extents(order.undo(extent), joins.source)};
    }

    constexpr bool operator==(piece const&) const = default;
};

/// The pieces of one tensor, packed: a piece of a matrix takes 72 bytes where `piece` takes 248.
class piece_list {
public:
    constexpr piece_list() = default;
    constexpr explicit piece_list(std::size_t ndim) : targets_(ndim), source_offsets_(ndim) {}

    constexpr std::size_t size() const { return facts_.size(); }
    constexpr std::size_t ndim() const { return targets_.ndim(); }

    constexpr void reserve(std::size_t pieces) {
        facts_.reserve(pieces);
        targets_.reserve(pieces);
        source_offsets_.reserve(pieces);
    }

    /// Appends a piece.
    ///
    /// \pre `part.target_offset.size() == ndim()`
    constexpr void push_back(piece const& part) {
        if (part.joins.any())
            factors_.push_back(
                {static_cast<std::uint32_t>(size()), part.joins, part.extent, part.source_offset});
        facts_.push_back({part.source, part.stored, part.order, part.casts});
        targets_.push_back(part.target_box());
        source_offsets_.push_back(part.joins.any() ? index_vector::filled(ndim(), 0)
                                                   : part.source_offset);
    }

    /// Appends the pieces of another tensor, whose target boxes are moved by `distance` along `axis`.
    ///
    /// \pre `other.ndim() == ndim()`, and there is such an axis
    constexpr void append_moved(piece_list const& other, std::size_t axis, index_t distance) {
        factors_.append_behind(size(), other.factors_);
        facts_.append(other.facts_.data(), other.facts_.size());
        targets_.append_moved(other.targets_, axis, distance);
        source_offsets_.append(other.source_offsets_);
    }

    /// \pre `i < size()`
    constexpr piece operator[](std::size_t i) const {
        BOOST_ASSERT(i < size());
        box const target = targets_[i];
        facts const& one = facts_[i];
        if (factor_row const* const row = factors_.find(i))
            return {one.source,         one.stored,    one.order,   one.casts,
                    row->source_offset, target.offset, row->extent, row->joins};
        return {one.source,         one.stored,    one.order,   one.casts,
                source_offsets_[i], target.offset, target.shape};
    }

    /// The target boxes alone, to be searched.
    constexpr box_list const& target_boxes() const { return targets_; }
    constexpr key_id source(std::size_t i) const { return facts_[i].source; }

    /// The memory that the pieces take.
    constexpr std::size_t bytes() const {
        return facts_.bytes() + targets_.bytes() + source_offsets_.bytes() + factors_.bytes();
    }

    constexpr bool operator==(piece_list const&) const = default;

private:
    struct facts {
        key_id source = zero_source;
        data_type stored{};
        permutation order;
        cast_chain casts;

        constexpr bool operator==(facts const&) const = default;
    };

    short_list<facts> facts_;
    box_list targets_;
    index_rows source_offsets_;
    factor_rows factors_; ///< of the pieces that a reshape has touched
};

} // namespace reshard

#endif
