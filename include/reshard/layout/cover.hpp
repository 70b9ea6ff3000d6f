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
    distinct_boxes result{box_list(boxes.ndim()), {}, {}};
    result.which.reserve(boxes.size());
    class_table numbers;
    vector<std::uint32_t> first; // by number
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

/// A box for each given box, so that boxes that share elements have boxes that do: positions are
/// counted modulo the steps of blocks, if some boxes are blocks along an axis.
///
/// Blocks that are dealt out share few elements with others, although the boxes around them do.
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
                bool const is_round = begin + region.shape[axis] > n; // then it counts as all
                region.offset[axis] = is_round ? 0 : begin;
                region.shape[axis] = is_round ? n : region.shape[axis];
            }
        result.push_back(region);
    }
    return result;
}

/// The first pair of boxes that share elements, or std::nullopt.
///
/// \param cycles the axes along which each box is blocks; empty if all are whole. Then `where` is
///               the box around what they share.
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
