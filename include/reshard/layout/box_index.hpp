// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_BOX_INDEX_HPP
#define RESHARD_LAYOUT_BOX_INDEX_HPP

#include <reshard/core/index_rows.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

/// \file
/// A search index of boxes: finds the boxes that overlap a given box without looking at all of
/// them.

namespace reshard::detail {

/// A static search tree over the boxes of one tensor.
///
/// The boxes are split into halves at the median along the axis on which they are spread most. Each
/// node stores the smallest box around its boxes. Nodes are in preorder, and each stores the index
/// after its subtree, so that a query is one loop. If shards do not overlap, a query that finds k
/// of them costs O(log n + k).
///
/// \par Source the packed R-tree (bulk loading by sort and tile), here constexpr and with 64-bit
///             numbers
class box_index {
public:
    constexpr box_index() = default;

    /// Empty boxes are omitted: they overlap nothing.
    constexpr explicit box_index(box_list boxes)
        : boxes_(std::move(boxes)), around_(boxes_.ndim()) {
        order_.reserve(boxes_.size());
        for (std::uint32_t i = 0; i < boxes_.size(); ++i)
            if (!is_empty(boxes_[i]))
                order_.push_back(i);
        if (!order_.empty())
            build(0, order_.size());
    }

    constexpr std::size_t size() const { return boxes_.size(); }
    constexpr box operator[](std::size_t i) const { return boxes_[i]; }
    constexpr box_list const& boxes() const { return boxes_; }

    /// Calls `visit(i, common)` for each box that shares elements with `region`, in any order;
    /// `common` is the box of shared elements.
    ///
    /// \pre `region` and the boxes have the same number of axes
    constexpr void for_each_overlap(box const& region, overlap_visitor visit) const {
        for (std::size_t at = 0; at < nodes_.size();) {
            node const& here = nodes_[at];
            if (!around_.overlaps(at, region)) {
                at = here.behind;
                continue;
            }
            if (at + 1 == here.behind)
                for (std::size_t i = here.first; i < here.last; ++i)
                    if (boxes_.overlaps(order_[i], region))
                        visit(order_[i], boxes_.common(order_[i], region));
            ++at;
        }
    }

    /// The numbers of the boxes that share elements with `region`, in ascending order.
    ///
    /// \pre `region` and the boxes have the same number of axes
    constexpr vector<std::uint32_t> overlapping(box const& region) const {
        vector<std::uint32_t> matches;
        for_each_overlap(region, [&](std::uint32_t i, box const&) { matches.push_back(i); });
        std::sort(matches.begin(), matches.end());
        return matches;
    }

private:
    struct node {
        std::size_t first;  ///< the first index in `order_`
        std::size_t last;   ///< the index after the last one
        std::size_t behind; ///< the node after this node's subtree
    };

    static constexpr std::size_t leaf_size = 4;

    /// The smallest box that contains the boxes `order_[first]` to `order_[last - 1]`.
    constexpr box around(std::size_t first, std::size_t last) const {
        box result = boxes_[order_[first]];
        for (std::size_t i = first + 1; i < last; ++i)
            result = hull(result, boxes_[order_[i]]);
        return result;
    }

    /// The axis along which the offsets of the boxes are furthest apart, relative to the extents of
    /// the boxes.
    constexpr std::size_t widest_axis(std::size_t first, std::size_t last,
                                      box const& around) const {
        std::size_t widest = 0;
        double most = -1;
        for (std::size_t axis = 0; axis < around.ndim(); ++axis) {
            index_t narrowest = std::numeric_limits<index_t>::max();
            for (std::size_t i = first; i < last; ++i)
                narrowest = std::min(narrowest, boxes_[order_[i]].shape[axis]);
            double const spread = static_cast<double>(around.shape[axis]) /
                                  static_cast<double>(std::max<index_t>(narrowest, 1));
            if (spread > most) {
                most = spread;
                widest = axis;
            }
        }
        return widest;
    }

    /// Appends the node of the boxes `order_[first]` to `order_[last - 1]`, and its subtree.
    constexpr void build(std::size_t first, std::size_t last) {
        std::size_t const at = nodes_.size();
        nodes_.push_back({first, last, 0});
        box const outer = around(first, last);
        around_.push_back(outer);
        if (last - first > leaf_size && outer.ndim() > 0) {
            std::size_t const axis = widest_axis(first, last, outer);
            auto const begin = order_.begin();
            auto const middle = first + (last - first) / 2;
            std::nth_element(begin + static_cast<std::ptrdiff_t>(first),
                             begin + static_cast<std::ptrdiff_t>(middle),
                             begin + static_cast<std::ptrdiff_t>(last),
                             [&](std::uint32_t a, std::uint32_t b) {
                                 return boxes_[a].offset[axis] < boxes_[b].offset[axis];
                             });
            build(first, middle);
            build(middle, last);
        }
        nodes_[at].behind = nodes_.size();
    }

    box_list boxes_;
    vector<std::uint32_t> order_;
    vector<node> nodes_;
    box_list around_;
};

} // namespace reshard::detail

#endif
