// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_COVER_HPP
#define RESHARD_LAYOUT_COVER_HPP

#include <reshard/core/axis_runs.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/box_index.hpp>
#include <reshard/layout/shard_table.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

/// \file
/// Whether the shards of a tensor cover it, and cover each element once.

namespace reshard::detail {

/// The different boxes of a list, and the index among them of each box of the list.
///
/// Equal boxes are replicas: legal everywhere, and one of them is the main copy.
struct distinct_boxes {
    box_list boxes;              ///< in the order in which they came first
    vector<axis_cycles> cycles;  ///< of `boxes`; empty if all are whole
    vector<std::uint32_t> which; ///< for each given box, its index in `boxes`
};

/// The different boxes among the given ones.
///
/// \param cycles the axes along which each box is blocks; empty if all are whole
/// \post `result.boxes[result.which[i]] == given[i]`, and no box appears twice in `result.boxes`
constexpr distinct_boxes distinct(box_list const& boxes, vector<axis_cycles> const& cycles = {}) {
    auto const cycles_before = [&](std::uint32_t a, std::uint32_t b) {
        return !cycles.empty() && cycles[a] < cycles[b];
    };
    auto const is_before = [&](std::uint32_t a, std::uint32_t b) {
        return boxes[a] < boxes[b] || (boxes[a] == boxes[b] && cycles_before(a, b));
    };
    vector<std::uint32_t> order;
    order.reserve(boxes.size());
    for (std::uint32_t i = 0; i < boxes.size(); ++i)
        order.push_back(i);
    sort_numbers(order, is_before);
    vector<std::uint32_t> first(boxes.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i)
        first[order[i]] =
            i > 0 && !is_before(order[i - 1], order[i]) ? first[order[i - 1]] : order[i];
    distinct_boxes result{box_list(boxes.ndim()), {}, vector<std::uint32_t>(boxes.size(), 0)};
    for (std::uint32_t i = 0; i < boxes.size(); ++i) {
        if (first[i] == i) {
            result.which[i] = static_cast<std::uint32_t>(result.boxes.size());
            result.boxes.push_back(boxes[i]);
            if (!cycles.empty())
                result.cycles.push_back(cycles[i]);
        } else
            result.which[i] = result.which[first[i]];
    }
    return result;
}

/// A fault of a set of boxes as a cover of a region.
struct cover_fault {
    enum class kind { gap, overlap } type;
    box where;               ///< elements that nobody, or more than one box, holds
    std::uint32_t first = 0; ///< of an overlap: the two boxes
    std::uint32_t second = 0;

    constexpr bool operator==(cover_fault const&) const = default;
};

/// A region, and the numbers of the boxes that share elements with it.
struct open_region {
    box region;
    vector<std::uint32_t> over;
};

/// A `region` inside `whole_region`, with the boxes that share elements with it.
constexpr open_region part_of(open_region const& whole_region, box const& region,
                              box_index const& index) {
    open_region result{region, {}};
    for (std::uint32_t const i : whole_region.over)
        if (intersect(index[i], region))
            result.over.push_back(i);
    return result;
}

/// The borders of boxes across `axis` that cut the region.
constexpr vector<index_t> borders_of(open_region const& open, box_index const& index,
                                     std::size_t axis) {
    vector<index_t> borders;
    for (std::uint32_t const i : open.over) {
        box const box = index[i];
        for (index_t const border : {box.offset[axis], box.end(axis)})
            if (border > open.region.offset[axis] && border < open.region.end(axis))
                borders.push_back(border);
    }
    return borders;
}

/// Halves a region at the middle border across the axis that has the most borders.
///
/// \pre some box shares elements with the region, and none holds all of it
constexpr std::pair<open_region, open_region> halves_of(open_region const& open,
                                                        box_index const& index) {
    vector<index_t> borders;
    std::size_t axis = 0;
    for (std::size_t i = 0; i < open.region.ndim(); ++i)
        if (auto other = borders_of(open, index, i); other.size() > borders.size()) {
            borders = std::move(other);
            axis = i;
        }
    BOOST_ASSERT(!borders.empty());
    auto const middle = borders.begin() + static_cast<std::ptrdiff_t>(borders.size() / 2);
    std::nth_element(borders.begin(), middle, borders.end());
    box before = open.region, behind = open.region;
    before.shape[axis] = *middle - before.offset[axis];
    behind.offset[axis] = *middle;
    behind.shape[axis] -= before.shape[axis];
    return {part_of(open, before, index), part_of(open, behind, index)};
}

/// Extends `gap`, which shares elements with no box, as far as possible in `region`, last axis
/// first.
constexpr box grown(box gap, box const& region, box_index const& index) {
    for (std::size_t axis = gap.ndim(); axis-- > 0;) {
        box line = gap;
        line.offset[axis] = region.offset[axis];
        line.shape[axis] = region.shape[axis];
        index_t first = region.offset[axis], last = region.end(axis);
        index.for_each_overlap(line, [&](std::uint32_t, box const& box) {
            if (box.offset[axis] < gap.offset[axis])
                first = std::max(first, box.end(axis));
            else
                last = std::min(last, box.offset[axis]);
        });
        gap.offset[axis] = first;
        gap.shape[axis] = last - first;
    }
    return gap;
}

/// Some elements of `region` that no box of `index` holds, as a box of maximal size; std::nullopt
/// if every element is held. The boxes may share elements.
///
/// \par Source the k-d partition of Overmars and Yap, which stops when one box holds a part: n log
///             n steps for n boxes of a grid, and no recursion
constexpr std::optional<box> uncovered(box const& region, box_index const& index) {
    vector<open_region> open;
    open.push_back({region, index.overlapping(region)});
    while (!open.empty()) {
        open_region const now = std::move(open.back());
        open.pop_back();
        if (now.over.empty())
            return grown(now.region, region, index);
        if (std::any_of(now.over.begin(), now.over.end(),
                        [&](std::uint32_t i) { return contains(index[i], now.region); }))
            continue;
        auto [before, behind] = halves_of(now, index);
        open.push_back(std::move(behind));
        open.push_back(std::move(before));
    }
    return std::nullopt;
}

/// The first pair of boxes that share elements, or std::nullopt.
///
/// \param cycles the axes along which each box is blocks; empty if all are whole. Then `where` is
///               the box around what they share.
constexpr std::optional<cover_fault> find_overlap(box_index const& index,
                                                  vector<axis_cycles> const& cycles = {}) {
    for (std::uint32_t i = 0; i < index.size(); ++i) {
        std::optional<cover_fault> fault;
        index.for_each_overlap(index[i], [&](std::uint32_t other, box const& common) {
            if (other > i && (!fault || other < fault->second) &&
                (cycles.empty() ||
                 common_elements(index[i], cycles[i], index[other], cycles[other]) > 0))
                fault = cover_fault{cover_fault::kind::overlap, common, i, other};
        });
        if (fault)
            return fault;
    }
    return std::nullopt;
}

/// Elements of `region` that no box holds, as a box of maximal size, or std::nullopt.
///
/// \pre        the boxes share no elements, and all lie inside `region`
/// \throws     error with errc::overflow when `region` has more than 2^63 - 1 elements
/// \par Source counting elements first keeps a cover of n boxes at O(n log n); comparing every pair
///             takes minutes at a thousand ranks (PyTorch issue 163548)
constexpr std::optional<cover_fault> find_gap(box const& region, box_index const& index) {
    index_t held_count = 0;
    for (std::size_t i = 0; i < index.size(); ++i)
        held_count += element_count(index[i]);
    if (held_count == element_count(region))
        return std::nullopt;
    auto const gap = uncovered(region, index);
    BOOST_ASSERT(gap);
    return cover_fault{cover_fault::kind::gap, *gap, 0, 0};
}

/// The fault that keeps the distinct boxes of `index` from holding each element of `region` exactly
/// once.
///
/// \pre    all boxes lie inside `region`
/// \throws error with errc::overflow when `region` has more than 2^63 - 1 elements
constexpr std::optional<cover_fault> find_cover_fault(box const& region, box_index const& index) {
    auto const overlap = find_overlap(index);
    return overlap ? overlap : find_gap(region, index);
}

} // namespace reshard::detail

#endif
