// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_VERIFY_HPP
#define RESHARD_PLAN_VERIFY_HPP

#include <reshard/plan/options.hpp>
#include <reshard/plan/part_index.hpp>
#include <reshard/plan/plan.hpp>
#include <reshard/plan/problem.hpp>

#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// Does a plan write every element of every wanted shard exactly once?

namespace reshard {

/// What is wrong with a plan: elements of a target shard that are written never, or twice.
struct plan_fault {
    key_id target_key = 0;
    std::uint32_t target_shard = 0;
    cover_fault fault;
};

namespace detail {

/// The boxes that `transfers[first]` and those behind it write of one shard; moves `first` behind them.
constexpr box_list written_boxes(plan const& whole, std::size_t& first, key_id key,
                                 std::uint32_t shard, std::size_t ndim) {
    box_list written(ndim);
    auto const& transfers = whole.transfers;
    for (; first < transfers.size() && transfers[first].target_key == key &&
           transfers[first].target_shard == shard;
         ++first)
        written.push_back(cut_of(whole, transfers[first]).target_box());
    return written;
}

/// `written` against one box of the shard: the boxes that lie in it must cover it once.
constexpr std::optional<cover_fault> find_fault(box const& part, box_list const& written) {
    box_list inside(written.ndim());
    for (std::size_t i = 0; i < written.size(); ++i)
        if (contains(part, written[i]))
            inside.push_back(written[i]);
    return find_cover_fault(part, box_index(std::move(inside)));
}

} // namespace detail

/// The first wanted shard that `whole` does not write exactly once, or nothing.
///
/// Looks at the written boxes only, not at how the plan was made.
///
/// \pre `whole` was made of `problem` for all transfers into the holders `targets`
constexpr std::optional<plan_fault> verify(plan const& whole, plan_problem const& problem,
                                           holder_set const& targets = {}) {
    std::size_t next = 0;
    for (key_id key = 0; key < problem.targets.size(); ++key) {
        target_side const& target = problem.targets[key];
        for (std::uint32_t shard = 0; shard < target.shards->size(); ++shard) {
            box_list const written =
                detail::written_boxes(whole, next, key, shard, target.shards->ndim());
            if (target.added || !targets.contains(target.shards->holder(shard)))
                continue;
            for (box const& part : target.shards->boxes(shard))
                if (auto const fault =
                        is_empty(part) ? std::nullopt : detail::find_fault(part, written))
                    return plan_fault{key, shard, *fault};
        }
    }
    return std::nullopt;
}

} // namespace reshard

#endif
