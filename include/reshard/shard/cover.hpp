// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SHARD_COVER_HPP
#define RESHARD_SHARD_COVER_HPP

#include <reshard/shard/box_index.hpp>
#include <reshard/shard/layout.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// Do the shards of a tensor cover it, and cover each element once?

namespace reshard {

/// Boxes, each once, and which of them each of the given boxes is.
///
/// Equal boxes are replicas: legal everywhere, and one of them is the main copy.
struct distinct_boxes {
    box_list boxes;                   ///< in the order in which they came first
    std::vector<std::uint32_t> which; ///< for each given box, its place in `boxes`
};

/// The different boxes among the given ones.
///
/// \post `result.boxes[result.which[i]] == given[i]`, and no box stands twice in `result.boxes`
constexpr distinct_boxes distinct(box_list const& given) {
    std::vector<std::uint32_t> order;
    order.reserve(given.size());
    for (std::uint32_t i = 0; i < given.size(); ++i)
        order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair{given[a], a} < std::pair{given[b], b};
    });
    std::vector<std::uint32_t> first(given.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i)
        first[order[i]] =
            i > 0 && given[order[i - 1]] == given[order[i]] ? first[order[i - 1]] : order[i];
    distinct_boxes result{box_list(given.ndim()), std::vector<std::uint32_t>(given.size(), 0)};
    for (std::uint32_t i = 0; i < given.size(); ++i) {
        if (first[i] == i) {
            result.which[i] = static_cast<std::uint32_t>(result.boxes.size());
            result.boxes.push_back(given[i]);
        } else
            result.which[i] = result.which[first[i]];
    }
    return result;
}

/// What is wrong with a set of boxes as a cover of a region.
struct cover_fault {
    enum class kind { gap, overlap } what;
    box where;               ///< elements that nobody, or more than one box, holds
    std::uint32_t first = 0; ///< of an overlap: the two boxes
    std::uint32_t second = 0;

    constexpr bool operator==(cover_fault const&) const = default;
};

namespace detail {

/// Some elements of `region` that no box of `index` holds: what is left beside one that overlaps
/// it.
constexpr std::optional<box> uncovered(box region, box_index const& index) {
    std::optional<box> hit;
    index.for_each_overlap(region, [&](std::uint32_t, box const& common) {
        if (!hit)
            hit = common;
    });
    if (!hit)
        return region;
    for (std::size_t axis = 0; axis < region.ndim(); ++axis) {
        box before = region, behind = region;
        before.shape[axis] = hit->offset[axis] - region.offset[axis];
        behind.offset[axis] = hit->end(axis);
        behind.shape[axis] = region.end(axis) - hit->end(axis);
        for (box const& rest : {before, behind})
            if (auto const gap = is_empty(rest) ? std::nullopt : uncovered(rest, index))
                return gap;
        region.offset[axis] = hit->offset[axis];
        region.shape[axis] = hit->shape[axis];
    }
    return std::nullopt;
}

} // namespace detail

/// The first pair of boxes that share elements, or nothing.
constexpr std::optional<cover_fault> find_overlap(box_index const& index) {
    for (std::uint32_t i = 0; i < index.size(); ++i) {
        std::optional<cover_fault> fault;
        index.for_each_overlap(index[i], [&](std::uint32_t other, box const& common) {
            if (other > i && (!fault || other < fault->second))
                fault = cover_fault{cover_fault::kind::overlap, common, i, other};
        });
        if (fault)
            return fault;
    }
    return std::nullopt;
}

/// Elements of `region` that no box holds, or nothing.
///
/// \pre        the boxes share no elements, and all lie inside `region`
/// \throws     error with errc::overflow when `region` has more than 2^63 - 1 elements
/// \par Source counting elements first keeps a cover of n boxes at O(n log n), where comparing
///             every pair takes minutes at a thousand ranks (PyTorch issue 163548)
constexpr std::optional<cover_fault> find_gap(box const& region, box_index const& index) {
    index_t held = 0;
    for (std::size_t i = 0; i < index.size(); ++i)
        held += element_count(index[i]);
    if (held == element_count(region))
        return std::nullopt;
    auto const gap = detail::uncovered(region, index);
    BOOST_ASSERT(gap);
    return cover_fault{cover_fault::kind::gap, *gap, 0, 0};
}

/// What keeps the distinct boxes of `index` from holding each element of `region` exactly once.
///
/// \pre    all boxes lie inside `region`
/// \throws error with errc::overflow when `region` has more than 2^63 - 1 elements
constexpr std::optional<cover_fault> find_cover_fault(box const& region, box_index const& index) {
    auto const overlap = find_overlap(index);
    return overlap ? overlap : find_gap(region, index);
}

} // namespace reshard

#endif
