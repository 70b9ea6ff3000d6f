// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_CUT_LIST_IPP
#define RESHARD_PLAN_IMPL_CUT_LIST_IPP

#include <reshard/plan/cut_list.hpp>

#include <reshard/core/config.hpp>

#include <string>

namespace reshard::detail {

RESHARD_DECL void cut_finder::fail_not_covered(std::uint32_t shard, box const& region,
                                               placed_pattern const& cuts,
                                               std::size_t first) const {
    box_list boxes(region.ndim());
    for (std::size_t i = first; i < cuts.size(); ++i)
        boxes.push_back(cuts[i].geometry.target_box());
    auto const gap = find_gap(region, box_index(boxes));
    std::string text = "elements " + to_string(gap->where) +
                       wanted_by(problem_, target_.shards.holder(shard)) +
                       " are missing from the source";
    std::size_t named = 0;
    pieces_.for_each_overlap(gap->where, [&](std::uint32_t i, box const& common) {
        cut_to_target((*target_.pieces)[i], common, [&](piece const& lost) {
            if (++named <= 3)
                text += "; source '" + std::string(problem_.sources[lost.source].key) + "' lacks " +
                        to_string(lost.source_box());
        });
    });
    if (named > 3)
        text += "; " + std::to_string(named) + " boxes in all";
    fail_tensor(errc::not_covered, target_.key, text);
}

} // namespace reshard::detail

#endif
