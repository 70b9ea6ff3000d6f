// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PIECE_INDEX_HPP
#define RESHARD_EXPR_PIECE_INDEX_HPP

#include <reshard/expr/piece.hpp>
#include <reshard/shard/box_index.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

/// \file
/// Which pieces of one tensor make up a box of it, without looking at all of them.

namespace reshard {

/// The pieces of one tensor by the places of their target boxes.
///
/// Concats leave pieces in rows: one row behind the other along an axis, of a handful of pieces
/// each. Rows are searched as they stand; pieces that lie otherwise get a search tree. A query costs
/// O(log n + k), where k pieces are found.
class piece_index {
public:
    constexpr piece_index() = default;

    /// Refers to `pieces`, which must live as long and stay what they are.
    ///
    /// \pre the target boxes share no elements, and none is empty
    constexpr explicit piece_index(piece_list const& pieces)
        : pieces_(&pieces), axis_(axis_of_rows(pieces.target_boxes())) {
        if (!axis_)
            tree_ = box_index(pieces.target_boxes());
    }

    /// Calls `visit(i, common)` for each piece that shares elements with `region`; `common` are the
    /// shared ones.
    ///
    /// \pre `region.ndim()` is that of the pieces
    template <class Visitor>
    constexpr void for_each_overlap(box const& region, Visitor&& visit) const {
        if (!pieces_ || pieces_->size() == 0)
            return;
        if (!axis_)
            return tree_.for_each_overlap(region, visit);
        box_list const& boxes = pieces_->target_boxes();
        for (std::size_t i = first_behind(region.offset[*axis_]); i < boxes.size(); ++i) {
            if (offset(boxes, i, *axis_) >= region.end(*axis_))
                return;
            if (auto const common = intersect(boxes[i], region))
                visit(i, *common);
        }
    }

private:
    static constexpr std::size_t longest_row = 4;

    static constexpr index_t offset(box_list const& boxes, std::size_t i, std::size_t axis) {
        return boxes.offsets().values()[i * boxes.ndim() + axis];
    }

    static constexpr index_t end(box_list const& boxes, std::size_t i, std::size_t axis) {
        return offset(boxes, i, axis) + boxes.shapes().values()[i * boxes.ndim() + axis];
    }

    /// An axis along which the boxes stand in rows, if there is one.
    static constexpr std::optional<std::size_t> axis_of_rows(box_list const& boxes) {
        for (std::size_t axis = 0; axis < boxes.ndim(); ++axis)
            if (stands_in_rows(boxes, axis))
                return axis;
        return std::nullopt;
    }

    /// Whether each box begins where the one before it begins and ends, or behind it.
    static constexpr bool stands_in_rows(box_list const& boxes, std::size_t axis) {
        std::size_t in_row = 1;
        for (std::size_t i = 1; i < boxes.size(); ++i) {
            bool const same_row = offset(boxes, i, axis) == offset(boxes, i - 1, axis) &&
                                  end(boxes, i, axis) == end(boxes, i - 1, axis);
            in_row = same_row ? in_row + 1 : 1;
            if (in_row > longest_row ||
                (!same_row && offset(boxes, i, axis) < end(boxes, i - 1, axis)))
                return false;
        }
        return true;
    }

    /// The first piece that ends behind `place` along the axis of the rows.
    constexpr std::size_t first_behind(index_t place) const {
        box_list const& boxes = pieces_->target_boxes();
        std::size_t first = 0;
        for (std::size_t count = boxes.size(); count > 0;) {
            std::size_t const half = count / 2;
            bool const is_before = end(boxes, first + half, *axis_) <= place;
            first += is_before ? half + 1 : 0;
            count = is_before ? count - half - 1 : half;
        }
        return first;
    }

    piece_list const* pieces_ = nullptr;
    std::optional<std::size_t> axis_; ///< of the rows; nothing: there is a tree
    box_index tree_;
};

} // namespace reshard

#endif
