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
#include <numeric>
#include <optional>
#include <utility>

/// \file
/// Checks that the shards of a tensor cover it, and that they hold each element once.

namespace reshard::detail {

/// The distinct boxes of a list, and for each box of the list its index among them.
///
/// Equal boxes are replicas. Replicas are always legal; one of them is the main copy.
struct distinct_boxes {
    box_list boxes;              ///< in the order of their first occurrence
    vector<axis_cycles> cycles;  ///< the cycles of `boxes`; empty if no box is cyclic
    vector<std::uint32_t> which; ///< for each given box, its index in `boxes`
};

/// Finds the distinct boxes of a list.
///
/// \param cycles the axes along which each box consists of blocks; empty if no box is cyclic
/// \post `result.boxes[result.which[i]] == boxes[i]`, and no box appears twice in `result.boxes`
constexpr distinct_boxes distinct(box_list const& boxes, vector<axis_cycles> const& cycles = {}) {
    distinct_boxes result{box_list(boxes.ndim()), {}, {}};
    result.which.reserve(boxes.size());
    class_table numbers;
    vector<std::uint32_t> first; // for each number, the first box that has it
    for (std::uint32_t i = 0; i < boxes.size(); ++i) {
        hasher digest;
        boxes.add_to(digest, i);
        if (!cycles.empty())
            add_value(digest, cycles[i]);
        std::uint32_t const number = numbers.number(digest.value(), [&](std::uint32_t candidate) {
            return boxes.are_equal(first[candidate], i) &&
                   (cycles.empty() || cycles[first[candidate]] == cycles[i]);
        });
        result.which.push_back(number);
        if (number < first.size())
            continue;
        first.push_back(i);
        result.boxes.push_back(boxes[i]);
        if (!cycles.empty())
            result.cycles.push_back(cycles[i]);
    }
    return result;
}

/// A reason why boxes do not cover a region exactly once.
struct cover_fault {
    enum class kind { gap, overlap } type;
    box where;               ///< elements that no box holds, or that two boxes hold
    std::uint32_t first = 0; ///< for an overlap: the numbers of the two boxes
    std::uint32_t second = 0;

    constexpr bool operator==(cover_fault const&) const = default;
};

/// A region, and the numbers of the boxes that share elements with it.
struct open_region {
    box region;
    vector<std::uint32_t> over;
};

/// The region `region`, with those boxes of `whole_region` that share elements with it.
/// `whole_region` contains `region`.
constexpr open_region part_of(open_region const& whole_region, box const& region,
                              box_index const& index) {
    open_region result{region, {}};
    for (std::uint32_t const i : whole_region.over)
        if (intersect(index[i], region))
            result.over.push_back(i);
    return result;
}

/// The offsets and ends of boxes along `axis` that lie inside the region.
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

/// Splits a region at the median border along the axis with the most borders.
///
/// \pre some box shares elements with the region, and no box contains the whole region
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

/// Extends `gap`, which shares no elements with any box, as far as possible within `region`. Starts
/// with the last axis.
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

/// A box of maximal size in `region` whose elements no box of `index` holds; std::nullopt if every
/// element is held. The boxes may overlap.
///
/// \par Source the k-d partition of Overmars and Yap, which stops at a region that one box
///             contains: n log n steps for n boxes of a grid, and no recursion
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

/// Replaces each box by a small box, such that boxes with shared elements still overlap. If some
/// boxes consist of blocks along an axis, the small boxes use positions modulo the blocks' period.
///
/// Cyclic blocks share few elements, although their enclosing boxes overlap. The small boxes rule
/// out most of these pairs.
constexpr box_list modular_boxes(box_list const& boxes, vector<axis_cycles> const& cycles) {
    index_vector period = index_vector::filled(boxes.ndim(), 0), first = period;
    for (std::size_t i = 0; i < cycles.size(); ++i)
        for (axis_cycle const& cycle : cycles[i]) {
            index_t const begin = boxes[i].offset[cycle.axis];
            first[cycle.axis] =
                period[cycle.axis] == 0 ? begin : std::min(first[cycle.axis], begin);
            period[cycle.axis] = std::gcd(period[cycle.axis], cycle.period);
        }
    box_list result(boxes.ndim());
    for (std::size_t i = 0; i < cycles.size(); ++i) {
        box region = boxes[i];
        for (axis_cycle const& cycle : cycles[i])
            region.shape[cycle.axis] = std::min(region.shape[cycle.axis], cycle.block);
        for (std::size_t axis = 0; axis < region.ndim(); ++axis)
            if (index_t const n = period[axis]; n > 0) {
                index_t const begin = ((region.offset[axis] - first[axis]) % n + n) % n;
                bool const is_round = begin + region.shape[axis] > n; // wraps around: use all of it
                region.offset[axis] = is_round ? 0 : begin;
                region.shape[axis] = is_round ? n : region.shape[axis];
            }
        result.push_back(region);
    }
    return result;
}

/// The first pair of boxes that share elements, or std::nullopt.
///
/// \param cycles the axes along which each box consists of blocks; empty if no box is cyclic. With
///               cycles, `where` is a box that contains the shared elements.
constexpr std::optional<cover_fault> find_overlap(box_index const& index,
                                                  vector<axis_cycles> const& cycles = {}) {
    box_index modular;
    box_index const* candidates = &index;
    if (!cycles.empty()) {
        modular = box_index(modular_boxes(index.boxes(), cycles));
        candidates = &modular;
    }
    for (std::uint32_t i = 0; i < index.size(); ++i) {
        std::optional<std::uint32_t> second;
        candidates->for_each_overlap((*candidates)[i], [&](std::uint32_t other, box const&) {
            if (other > i && (!second || other < *second) &&
                (cycles.empty() ||
                 common_elements(index[i], cycles[i], index[other], cycles[other]) > 0))
                second = other;
        });
        if (second)
            return cover_fault{cover_fault::kind::overlap, *intersect(index[i], index[*second]), i,
                               *second};
    }
    return std::nullopt;
}

/// A box of maximal size in `region` whose elements no box holds, or std::nullopt.
///
/// \pre        the boxes share no elements, and `region` contains all of them
/// \throws     error with errc::overflow if `region` has more than 2^63 - 1 elements
/// \par Source counting elements first keeps the check of n boxes at O(n log n); comparing every
///             pair takes minutes with a thousand ranks (PyTorch issue 163548)
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

/// The first reason why the distinct boxes of `index` do not hold each element of `region` exactly
/// once, or std::nullopt.
///
/// \pre    `region` contains all boxes
/// \throws error with errc::overflow if `region` has more than 2^63 - 1 elements
constexpr std::optional<cover_fault> find_cover_fault(box const& region, box_index const& index) {
    auto const overlap = find_overlap(index);
    return overlap ? overlap : find_gap(region, index);
}

} // namespace reshard::detail

#endif
