// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_MAPPING_INDEX_HPP
#define RESHARD_EXPR_MAPPING_INDEX_HPP

#include <reshard/expr/cut_piece.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/expr/piece_list.hpp>
#include <reshard/layout/box_index.hpp>

#include <cstddef>
#include <optional>
#include <unordered_map>

/// \file
/// Finds the pieces that make up a box of a mapping's tensor, for frequent queries.

namespace reshard::detail {

/// Finds the pieces of one tensor by the positions of their target boxes.
///
/// After a concat, the pieces form rows along an axis, with a few pieces each. Rows are searched
/// directly; other pieces get a search tree. A query that finds k pieces costs O(log n + k).
class piece_index {
public:
    constexpr piece_index() = default;

    /// Refers to `pieces`, which must outlive the index and not change.
    ///
    /// \pre the target boxes share no elements, and no box is empty
    constexpr explicit piece_index(piece_list const& pieces)
        : pieces_(&pieces), axis_(axis_of_rows(pieces)) {
        if (!axis_)
            tree_ = box_index(pieces.target_boxes());
    }

    /// Calls `visit(i, common)` for each piece that shares elements with `region`; `common` is the
    /// box of shared elements.
    ///
    /// \pre `region` and the pieces have the same number of axes
    constexpr void for_each_overlap(box const& region, auto&& visit) const {
        if (!pieces_ || pieces_->size() == 0)
            return;
        if (!axis_)
            return tree_.for_each_overlap(region, visit);
        for (std::size_t i = first_behind(region.offset[*axis_]); i < pieces_->size(); ++i) {
            if (pieces_->target_offset(i, *axis_) >= region.end(*axis_))
                return;
            if (auto const common = intersect(pieces_->target_box(i), region))
                visit(i, *common);
        }
    }

private:
    static constexpr std::size_t longest_row = 4;

    /// An axis along which the boxes form rows, if there is one.
    static constexpr std::optional<std::size_t> axis_of_rows(piece_list const& pieces) {
        for (std::size_t axis = 0; axis < pieces.ndim(); ++axis)
            if (stands_in_rows(pieces, axis))
                return axis;
        return std::nullopt;
    }

    /// Whether each box has the same bounds as the previous box, or begins after it.
    static constexpr bool stands_in_rows(piece_list const& pieces, std::size_t axis) {
        std::size_t in_row = 1;
        for (std::size_t i = 1; i < pieces.size(); ++i) {
            index_t const first = pieces.target_offset(i, axis);
            index_t const end_before = pieces.target_end(i - 1, axis);
            bool const same_row = first == pieces.target_offset(i - 1, axis) &&
                                  pieces.target_end(i, axis) == end_before;
            in_row = same_row ? in_row + 1 : 1;
            if (in_row > longest_row || (!same_row && first < end_before))
                return false;
        }
        return true;
    }

    /// The first piece that ends after `index` along the axis of the rows.
    constexpr std::size_t first_behind(index_t index) const {
        std::size_t first = 0;
        for (std::size_t count = pieces_->size(); count > 0;) {
            std::size_t const half = count / 2;
            bool const is_before = pieces_->target_end(first + half, *axis_) <= index;
            first += is_before ? half + 1 : 0;
            count = is_before ? count - half - 1 : half;
        }
        return first;
    }

    piece_list const* pieces_ = nullptr;
    std::optional<std::size_t> axis_; ///< of the rows; empty if there is a tree
    box_index tree_;
};

/// A mapping prepared for queries.
///
/// Tensors of a few pieces have no index: their pieces are searched one by one. For a single query,
/// `explain` needs no index.
class mapping_index {
public:
    /// Refers to `program`, which must outlive the index and not change.
    explicit mapping_index(mapping const& program) {
        for (mapping_output const& output : program.outputs())
            if (output.value.pieces.size() > few)
                indices_.emplace(&output, piece_index(output.value.pieces));
    }

    /// Calls `visit(p)` for each piece of `region` of a target tensor, cut to the region.
    ///
    /// \pre `output` belongs to the mapping, and `region` is a box of its tensor
    void for_each_piece(mapping_output const& output, box const& region, auto&& visit) const {
        piece_list const& pieces = output.value.pieces;
        auto const cut = [&](std::size_t i, box const& common) {
            cut_to_target(pieces[i], common, visit);
        };
        if (pieces.size() > few)
            return indices_.at(&output).for_each_overlap(region, cut);
        for (std::size_t i = 0; i < pieces.size(); ++i)
            if (auto const common = intersect(pieces.target_box(i), region))
                cut(i, *common);
    }

private:
    static constexpr std::size_t few = 4;

    std::unordered_map<mapping_output const*, piece_index> indices_;
};

} // namespace reshard::detail

#endif
