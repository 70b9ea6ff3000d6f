// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_VERIFY_HPP
#define RESHARD_PLAN_VERIFY_HPP

#include <reshard/plan/options.hpp>
#include <reshard/plan/plan.hpp>
#include <reshard/plan/plan_problem.hpp>
#include <reshard/plan/shard_index.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// Checks that a plan writes every element of every wanted shard exactly once.

namespace reshard {

namespace detail {

/// The error in a plan: elements of a target shard are never written, are written twice, or do not
/// belong to the shard; or a holder passes on elements that it does not get.
struct plan_fault {
    enum class kind { missing, twice, outside, not_relayed } type{};
    key_id target_key = 0;
    std::uint32_t target_shard = 0;
    box where; ///< of the target tensor

    constexpr bool operator==(plan_fault const&) const = default;
};

/// The boxes of one shard that `transfers[first]` and the transfers after it write; moves `first`
/// past these transfers.
constexpr box_list written_boxes(plan const& plan, std::size_t& first, key_id key,
                                 std::uint32_t shard, std::size_t ndim) {
    box_list written(ndim);
    auto const& transfers = plan.transfers;
    for (; first < transfers.size() && transfers[first].target_key == key &&
           transfers[first].target_shard == shard;
         ++first)
        cut_of(plan, transfers[first]).for_each_target_box([&](box const& each) {
            written.push_back(each);
        });
    return written;
}

/// The error in the boxes that are written into one shard, if any. `boxes` are the shard's boxes.
constexpr std::optional<plan_fault> find_fault(std::vector<box> const& boxes,
                                               box_list const& written) {
    std::vector<box_list> inside(boxes.size(), box_list(written.ndim()));
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

/// The first transfer that should be passed on but has no input, among those whose senders are in
/// `senders`.
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

/// The first wanted shard that `plan` does not write exactly once, if any.
///
/// Looks only at the written boxes and at the elements that each holder passes on, not at how the
/// plan was made. A transfer out of the order of the target shards is `outside`.
///
/// \pre `plan` was made of `problem` for all transfers into the holders `targets`, and perhaps
///      others
constexpr std::optional<detail::plan_fault>
verify(plan const& plan, detail::plan_problem const& problem, holder_set const& targets = {}) {
    std::size_t next = 0;
    for (detail::key_id key = 0; key < problem.targets.size(); ++key) {
        detail::target_side const& target = problem.targets[key];
        for (std::uint32_t shard = 0; shard < target.shards.size(); ++shard) {
            detail::box_list const written =
                detail::written_boxes(plan, next, key, shard, target.shards.ndim());
            if (!targets.contains(target.shards.holder(shard)))
                continue;
            std::vector<box> boxes; // empty if nothing may be written
            if (!target.added)
                boxes = target.shards.boxes(shard);
            auto const fault = detail::find_fault(boxes, written);
            if (fault)
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
