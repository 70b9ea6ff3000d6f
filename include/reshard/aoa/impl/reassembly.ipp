// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_REASSEMBLY_IPP
#define RESHARD_AOA_IMPL_REASSEMBLY_IPP

#include <reshard/aoa/reassembly.hpp>

#include <reshard/core/cast_chain.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/losses.hpp>
#include <reshard/layout/cover.hpp>

#include <algorithm>

namespace reshard::aoa::detail {

RESHARD_DECL std::optional<reassembled> reassembly::find(std::string_view key) {
    if (ids_.empty())
        sort();
    auto const known = ids_.find(key);
    if (known == ids_.end())
        return std::nullopt;
    reshard::detail::key_id const source = known->second;
    std::vector<found_piece> const held = needed(source);
    box const all = whole(map_.sources()[source].shape);
    if (held.empty() || held.size() > most)
        return std::nullopt;
    std::vector<std::vector<index_t>> cuts;
    std::size_t count = 1;
    for (std::size_t axis = 0; axis < all.ndim(); ++axis) {
        cuts.push_back(cuts_along(axis, held, all));
        count *= cuts.back().size() - 1;
        if (count > most)
            return std::nullopt;
    }
    return fill(cuts, held, count);
}

RESHARD_DECL void reassembly::sort() {
    for (reshard::detail::key_id id = 0; id < map_.sources().size(); ++id)
        ids_.emplace(map_.sources()[id].key, id);
    for (mapping_output const& output : map_.outputs())
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i)
            by_source_[output.value.pieces.source(i)].emplace_back(&output, i);
}

RESHARD_DECL bool reassembly::is_reversible(piece const& candidate) {
    return !reshard::detail::find_rounding(candidate) &&
           reshard::detail::is_castable(reshard::detail::result(candidate.stored, candidate.casts),
                                        candidate.stored);
}

RESHARD_DECL auto reassembly::needed(reshard::detail::key_id source) -> std::vector<found_piece> {
    std::vector<found_piece> held;
    reshard::detail::box_list regions(map_.sources()[source].shape.size());
    for (auto const& [output, place] : by_source_[source]) {
        piece const covering = output->value.pieces[place];
        box const region = covering.source_box();
        if (!is_reversible(covering) ||
            !reshard::detail::uncovered(region, reshard::detail::box_index(regions)))
            continue;
        held.push_back({output, covering, region});
        regions.push_back(region);
        if (held.size() > most)
            return held;
    }
    if (reshard::detail::uncovered(whole(map_.sources()[source].shape),
                                   reshard::detail::box_index(regions)))
        held.clear();
    return held;
}

RESHARD_DECL std::vector<index_t>
reassembly::cuts_along(std::size_t axis, std::vector<found_piece> const& held, box const& all) {
    std::vector<index_t> cuts{0, all.shape[axis]};
    for (found_piece const& one : held) {
        cuts.push_back(one.region.offset[axis]);
        cuts.push_back(one.region.offset[axis] + one.region.shape[axis]);
    }
    std::ranges::sort(cuts);
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    return cuts;
}

RESHARD_DECL reassembled reassembly::fill(std::vector<std::vector<index_t>> const& cuts,
                                          std::vector<found_piece> const& held, std::size_t count) {
    reassembled grid;
    for (auto const& along : cuts)
        grid.counts.push_back(static_cast<index_t>(along.size()) - 1);
    for (std::size_t i = 0; i < count; ++i) {
        index_vector const at =
            reshard::detail::unravel_index(static_cast<index_t>(i), grid.counts);
        box region{at, at};
        for (std::size_t axis = 0; axis < at.size(); ++axis) {
            auto const first = cuts[axis].begin() + at[axis];
            region.offset[axis] = first[0];
            region.shape[axis] = first[1] - first[0];
        }
        auto const holder = std::ranges::find_if(
            held, [&](found_piece const& one) { return contains(one.region, region); });
        grid.cells.push_back({region, holder->output, holder->covering});
    }
    return grid;
}

} // namespace reshard::aoa::detail

#endif
