// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PIECE_HPP
#define RESHARD_EXPR_PIECE_HPP

#include <reshard/core/cast_chain.hpp>
#include <reshard/core/index_rows.hpp>
#include <reshard/core/permutation.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// What every program ends as: a box of a source tensor that is a box of a target tensor.

namespace reshard {

/// The number of a source tensor: its place in whatever list the expressions were made from.
using key_id = std::uint32_t;

/// The source of a piece that is no tensor: zeros.
inline constexpr key_id zero_source = 0xffffffff;

/// A box of a target tensor and where its elements come from.
///
/// \par Shape  the source box has the extents `order.undo(extent)` and begins at `source_offset`
/// \par Units  elements, in global coordinates of the two tensors
struct piece {
    key_id source = zero_source;
    data_type stored{}; ///< the data type in which the source holds the elements
    permutation order;  ///< target axis `j` is source axis `order[j]`
    cast_chain casts;
    index_vector source_offset;
    index_vector target_offset;
    index_vector extent; ///< in the order of the target's axes

    constexpr box target_box() const { return {target_offset, extent}; }
    constexpr box source_box() const { return {source_offset, order.undo(extent)}; }

    constexpr bool operator==(piece const&) const = default;
};

/// The part of a piece that makes up `region` of the target.
///
/// \pre `contains(whole.target_box(), region)`
constexpr piece cut_to_target(piece whole, box const& region) {
    BOOST_ASSERT(contains(whole.target_box(), region));
    index_vector moved = region.offset;
    for (std::size_t axis = 0; axis < moved.size(); ++axis)
        moved[axis] -= whole.target_offset[axis];
    moved = whole.order.undo(moved);
    for (std::size_t axis = 0; axis < moved.size(); ++axis)
        whole.source_offset[axis] += moved[axis];
    whole.target_offset = region.offset;
    whole.extent = region.shape;
    return whole;
}

/// The box of the target that is made of `region` of the source.
///
/// \pre `contains(part.source_box(), region)`
constexpr box target_box_of(piece const& part, box const& region) {
    BOOST_ASSERT(contains(part.source_box(), region));
    box result{part.order.apply(relative_to(region, part.source_offset).offset),
               part.order.apply(region.shape)};
    for (std::size_t axis = 0; axis < result.ndim(); ++axis)
        result.offset[axis] += part.target_offset[axis];
    return result;
}

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
    /// \pre `part.extent.size() == ndim()`
    constexpr void push_back(piece const& part) {
        facts_.push_back({part.source, part.stored, part.order, part.casts});
        targets_.push_back(part.target_box());
        source_offsets_.push_back(part.source_offset);
    }

    /// \pre `i < size()`
    constexpr piece operator[](std::size_t i) const {
        BOOST_ASSERT(i < size());
        box const target = targets_[i];
        return {facts_[i].source,   facts_[i].stored, facts_[i].order, facts_[i].casts,
                source_offsets_[i], target.offset,    target.shape};
    }

    /// The target boxes alone, to be searched.
    constexpr box_list const& target_boxes() const { return targets_; }
    constexpr key_id source(std::size_t i) const { return facts_[i].source; }

    /// The memory that the pieces take.
    constexpr std::size_t bytes() const {
        return facts_.capacity() * sizeof(facts) + targets_.bytes() + source_offsets_.bytes();
    }

    constexpr bool operator==(piece_list const&) const = default;

private:
    struct facts {
        key_id source;
        data_type stored;
        permutation order;
        cast_chain casts;

        constexpr bool operator==(facts const&) const = default;
    };

    std::vector<facts> facts_;
    box_list targets_;
    index_rows source_offsets_;
};

} // namespace reshard

#endif
