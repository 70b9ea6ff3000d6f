// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_LOSSES_IPP
#define RESHARD_EXPR_IMPL_LOSSES_IPP

#include <reshard/expr/losses.hpp>

#include <reshard/expr/check_pieces.hpp>
#include <reshard/layout/cover.hpp>

#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::optional<data_type> find_rounding(piece const& p) {
    for (data_type const dtype : p.casts.steps())
        if (!is_lossless(p.stored, dtype))
            return dtype;
    return std::nullopt;
}

/// Notes what the pieces of a tensor use of the sources; a piece that fits no source is passed
/// over.
inline void add_usage(std::vector<source_usage>& usages, source_list const& sources,
                      expression const& value) {
    for (std::size_t i = 0; i < value.pieces.size(); ++i) {
        piece const p = value.pieces[i];
        if (p.source == zero_source || find_source_fault(p, sources))
            continue;
        source_usage& used = usages[p.source];
        used.read.push_back(p.source_box());
        if (auto const rounding = find_rounding(p))
            used.rounding = rounding;
        else
            used.kept.push_back(p.source_box());
    }
}

/// Boxes of a tensor that none of `held` has elements of; of many, the first ones, and one more.
inline std::vector<box> gaps_of(index_vector const& shape, box_list held) {
    constexpr std::size_t most = 4;
    std::vector<box> gaps;
    while (gaps.size() <= most) {
        auto const gap = uncovered(whole(shape), box_index(held));
        if (!gap)
            break;
        gaps.push_back(*gap);
        held.push_back(*gap);
    }
    return gaps;
}

RESHARD_DECL std::optional<loss> loss_beyond(box_list const& held, key_id id,
                                             mapping_source const& source) {
    box const all = whole(source.shape);
    if (is_empty(all) || (held.size() == 1 && held[0] == all))
        return std::nullopt;
    if (held.size() == 0)
        return loss{loss::kind::unused, id, std::string(source.key), {all}};
    std::vector<box> gaps = gaps_of(source.shape, held);
    if (gaps.empty())
        return std::nullopt;
    bool const has_more = gaps.size() > 4;
    gaps.resize(has_more ? 4 : gaps.size());
    return loss{loss::kind::unused, id, std::string(source.key), std::move(gaps), has_more};
}

RESHARD_DECL std::string boxes_text(loss const& one) {
    std::string text;
    for (box const& region : one.boxes)
        text += (text.empty() ? "" : ", ") + to_string(region);
    return text + (one.has_more ? " and more" : "");
}

RESHARD_DECL std::vector<source_usage> usages_of(mapping const& map) {
    std::vector<source_usage> usages;
    usages.reserve(map.sources().size());
    for (mapping_source const& source : map.sources())
        usages.push_back({box_list(source.shape.size()), box_list(source.shape.size()), {}});
    for (mapping_output const& output : map.outputs())
        add_usage(usages, map.sources(), output.value);
    return usages;
}

RESHARD_DECL std::vector<loss> losses_of(mapping const& map,
                                         std::vector<source_usage> const& usages) {
    std::unordered_set<std::string_view> const removed(map.removed().begin(), map.removed().end());
    std::vector<loss> losses;
    for (key_id id = 0; id < usages.size(); ++id) {
        mapping_source const source = map.sources()[id];
        auto lost = loss_beyond(usages[id].kept, id, source);
        if (!lost)
            continue;
        if (removed.contains(source.key) && usages[id].read.size() == 0)
            lost->what = loss::kind::removed;
        else if (auto unread = loss_beyond(usages[id].read, id, source))
            lost = std::move(unread);
        else {
            lost->what = loss::kind::rounded;
            lost->dtype = usages[id].rounding;
        }
        losses.push_back(std::move(*lost));
    }
    return losses;
}

RESHARD_DECL std::string describe(loss const& one, mapping_source const& source) {
    if (one.what == loss::kind::removed)
        return "is removed";
    if (one.what == loss::kind::rounded)
        return "is rounded on the way from " + std::string(name(source.dtype)) + " to " +
               std::string(name(*one.dtype));
    if (one.boxes.size() == 1 && one.boxes[0] == whole(source.shape))
        return "is used by no target";
    return "has elements that no target uses: " + boxes_text(one) + " of " +
           to_string(source.shape);
}

} // namespace reshard::detail

#endif
