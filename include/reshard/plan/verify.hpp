// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_VERIFY_HPP
#define RESHARD_PLAN_VERIFY_HPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/plan.hpp>
#include <reshard/plan/plan_problem.hpp>
#include <reshard/plan/shard_index.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

/// \file
/// Checks that a plan writes every element of every wanted shard exactly once.

namespace reshard {

namespace detail {

/// The fault of a plan: elements of a target shard are never written, are written twice, or do not
/// belong to the shard; or a holder passes on elements that it does not receive.
struct plan_fault {
    enum class kind { missing, twice, outside, not_relayed } type{};
    key_id target_key = 0;
    std::uint32_t target_shard = 0;
    box where; ///< in the target tensor

    constexpr bool operator==(plan_fault const&) const = default;
};

/// The most boxes of one shard that are compared one by one. More boxes, for example from a foreign
/// plan file, could take hours and all memory.
inline constexpr index_t most_listed_boxes = index_t{1} << 22;

/// The number of blocks of a region.
constexpr index_t block_count(box const& region, axis_cycles const& cycles) {
    index_t count = 1;
    for (axis_cycle const& cycle : cycles)
        count *= (region.shape[cycle.axis] - 1) / cycle.period + 1;
    return count;
}

/// The regions of a shard that transfers write.
struct written_parts {
    box_list regions;
    vector<axis_cycles> cycles; ///< by region: the axes along which it is block-cyclic
    bool have_cycles = false;

    /// Adds a region or, if boxes repeat twice along an axis, a region for each of the inner boxes.
    ///
    /// \throws error with errc::limit_exceeded for too many regions
    constexpr void add(cut const& geometry) {
        auto const& [count, step] = geometry.repeats;
        box region = geometry.target_box();
        std::size_t const ndim = region.ndim();
        index_vector inner = index_vector::filled(ndim, 1);
        axis_cycles blocks;
        for (std::size_t axis = 0; axis < ndim && !count.empty(); ++axis) {
            bool const is_twice = count.size() > ndim && count[ndim + axis] > 1;
            std::size_t const i = is_twice ? ndim + axis : axis;
            index_t const block = region.shape[axis];
            inner[axis] = is_twice ? count[axis] : 1;
            region.shape[axis] += (count[i] - 1) * step[i];
            add_cycle(blocks, {axis, block, step[i]}, region);
        }
        have_cycles = have_cycles || !blocks.empty();
        if (element_count(inner) > most_listed_boxes - static_cast<index_t>(regions.size()))
            fail(errc::limit_exceeded, "a plan writes more than ", most_listed_boxes,
                 " boxes into one shard, which are too many to verify: they repeat ", count,
                 " times by ", step);
        for (index_t number = 0; number < element_count(inner); ++number) {
            index_vector const at = unravel_index(number, inner);
            box moved = region;
            for (std::size_t axis = 0; axis < ndim; ++axis)
                moved.offset[axis] += at[axis] == 0 ? 0 : at[axis] * step[axis];
            regions.push_back(moved);
            cycles.push_back(blocks);
        }
    }

    /// The number of blocks, or a number above `most_listed_boxes`.
    constexpr index_t block_count() const {
        index_t count = 0;
        for (std::size_t i = 0; i < regions.size() && count <= most_listed_boxes; ++i)
            count += std::min(detail::block_count(regions[i], cycles[i]), most_listed_boxes + 1);
        return count;
    }

    /// Each block as a region.
    ///
    /// \throws error with errc::limit_exceeded for too many blocks
    constexpr box_list boxes() const {
        if (block_count() > most_listed_boxes)
            fail(errc::limit_exceeded, "a plan writes more than ", most_listed_boxes,
                 " blocks into one shard that has no such blocks, which are too many to verify");
        box_list each(regions.ndim());
        for (std::size_t i = 0; i < regions.size(); ++i)
            for_each_block(regions[i], cycles[i], [&](box const& block) { each.push_back(block); });
        return each;
    }
};

/// The regions that `transfers[first]` and the following transfers write into one shard; moves
/// `first` past these transfers.
constexpr written_parts written_into(plan const& plan, std::size_t& first, key_id key,
                                     std::uint32_t shard, std::size_t ndim) {
    written_parts written{box_list(ndim), {}};
    auto const& transfers = plan.transfers;
    for (; first < transfers.size() && transfers[first].target_key == key &&
           transfers[first].target_shard == shard;
         ++first)
        written.add(cut_of(plan, transfers[first]));
    return written;
}

/// The fault of the boxes that are written into a shard with `boxes`, or std::nullopt.
constexpr std::optional<plan_fault> find_fault(vector<box> const& boxes, box_list const& written) {
    vector<box_list> inside(boxes.size(), box_list(written.ndim()));
    box_list list(written.ndim());
    for (box const& box : boxes)
        list.push_back(box);
    box_index const index(std::move(list));
    for (std::size_t i = 0; i < written.size(); ++i) {
        std::size_t which = boxes.size();
        index.for_each_overlap(written[i], [&](std::uint32_t at, box const& common) {
            if (common == written[i])
                which = at;
        });
        if (which == boxes.size())
            return plan_fault{plan_fault::kind::outside, 0, 0, written[i]};
        inside[which].push_back(written[i]);
    }
    for (std::size_t which = 0; which < boxes.size(); ++which)
        if (auto const fault = find_cover_fault(boxes[which], box_index(std::move(inside[which]))))
            return plan_fault{fault->type == cover_fault::kind::gap ? plan_fault::kind::missing
                                                                    : plan_fault::kind::twice,
                              0, 0, fault->where};
    return std::nullopt;
}

/// The same for a block-cyclic shard, without a list of its blocks. Only a search for missing
/// elements lists all blocks; if they are too many, the fault is the whole region.
constexpr std::optional<plan_fault> find_fault(box const& region, axis_cycles const& cycles,
                                               written_parts const& written) {
    index_t count = 0;
    for (std::size_t i = 0; i < written.regions.size(); ++i) {
        box const part = written.regions[i];
        index_t const elements = element_count(held_shape(part, written.cycles[i]));
        if (common_elements(part, written.cycles[i], region, cycles) != elements)
            return plan_fault{plan_fault::kind::outside, 0, 0, part};
        count += elements;
    }
    if (auto const fault = find_overlap(box_index(written.regions), written.cycles))
        return plan_fault{plan_fault::kind::twice, 0, 0, fault->where};
    if (count == element_count(held_shape(region, cycles)))
        return std::nullopt;
    if (block_count(region, cycles) > most_listed_boxes ||
        written.block_count() > most_listed_boxes)
        return plan_fault{plan_fault::kind::missing, 0, 0, region};
    return find_fault(boxes_of(region, {}, cycles), written.boxes());
}

/// The fault of the regions that are written into a shard of a target, or std::nullopt.
constexpr std::optional<plan_fault> find_fault(target_side const& target, std::uint32_t shard,
                                               written_parts const& written) {
    if (target.added) // nothing may be written
        return find_fault({}, written.boxes());
    axis_cycles const cycles = target.shards.cycles(shard);
    if (!target.shards.flat(shard) && (written.have_cycles || !cycles.empty()))
        return find_fault(target.shards.region(shard), cycles, written);
    return find_fault(target.shards.boxes(shard), written.boxes());
}

/// The fault of the first relay without an input, among the relays that holders in `senders` send.
constexpr std::optional<plan_fault> find_relay_fault(plan const& plan, holder_set const& senders) {
    for (relay const& relay : plan.relays) {
        transfer const& t = plan.transfers[relay.transfer];
        if (relay.is_passed_on() && senders.contains(sender_of(plan, t, &relay)) &&
            !has_input(plan, relay))
            return plan_fault{plan_fault::kind::not_relayed, t.target_key, t.target_shard,
                              cut_of(plan, t).target_box()};
    }
    return std::nullopt;
}

} // namespace detail

/// The first wanted shard that `plan` does not write exactly once, or std::nullopt.
///
/// Checks only the written boxes and the elements that each holder passes on, not how the plan was
/// made. A transfer out of the order of the target shards is `outside`.
///
/// \pre `plan` was made from `problem` for all transfers into the holders `targets`, and perhaps
///      others
constexpr std::optional<detail::plan_fault>
verify(plan const& plan, detail::plan_problem const& problem, holder_set const& targets = {}) {
    std::size_t next = 0;
    for (detail::key_id key = 0; key < problem.targets.size(); ++key) {
        detail::target_side const& target = problem.targets[key];
        for (std::uint32_t shard = 0; shard < target.shards.size(); ++shard) {
            detail::written_parts const written =
                detail::written_into(plan, next, key, shard, target.shards.ndim());
            if (!targets.contains(target.shards.holder(shard)))
                continue;
            if (auto const fault = detail::find_fault(target, shard, written))
                return detail::plan_fault{fault->type, key, shard, fault->where};
        }
    }
    if (next == plan.transfers.size())
        return detail::find_relay_fault(plan, targets);
    transfer const& stray = plan.transfers[next];
    return detail::plan_fault{detail::plan_fault::kind::outside, stray.target_key,
                              stray.target_shard, detail::cut_of(plan, stray).target_box()};
}

} // namespace reshard

#endif
