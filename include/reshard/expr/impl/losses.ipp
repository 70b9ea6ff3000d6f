// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_LOSSES_IPP
#define RESHARD_EXPR_IMPL_LOSSES_IPP

#include <reshard/expr/losses.hpp>

#include <reshard/layout/cover.hpp>

#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace reshard::detail {

RESHARD_DECL bool lies_in(box const& region, index_vector const& shape) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        index_t const first = region.offset[axis], extent = region.shape[axis];
        if (first < 0 || extent < 0 || first > shape[axis] || extent > shape[axis] - first)
            return false;
    }
    return true;
}

/// Describes a box that exceeds its tensor; the ends of the box may exceed 64 bits.
inline std::string extent_text(box const& region) {
    return words("a box of ", region.shape, " at ", region.offset);
}

/// Describes why a piece does not fit its source, or std::nullopt; the text follows the target's
/// key.
inline std::optional<piece_fault> find_source_fault(piece const& p, source_list const& sources) {
    if (p.source == zero_source)
        return std::nullopt;
    if (p.source >= sources.size())
        return piece_fault{errc::unknown_key, words("refers to source tensor number ", p.source,
                                                    ", but there are only ", sources.size())};
    mapping_source const source = sources[p.source];
    std::string const key(source.key);
    box const region = p.source_box();
    if (region.offset.size() != source.shape.size() || region.ndim() != source.shape.size())
        return piece_fault{errc::shape_mismatch,
                           words("takes a box of ", counted(p.extent.size(), "axis"), " from '",
                                 key, "', shape ", source.shape)};
    if (!lies_in(region, source.shape))
        return piece_fault{errc::shape_mismatch, words("takes ", extent_text(region), " from '",
                                                       key, "', shape ", source.shape)};
    if (p.stored != source.dtype)
        return piece_fault{errc::dtype_mismatch,
                           words("takes '", key, "' as ", p.stored, ", but it is ", source.dtype)};
    return std::nullopt;
}

/// The same for a piece and its target.
inline std::optional<piece_fault> find_target_fault(piece const& p, expression const& value) {
    if (!lies_in(p.target_box(), value.shape))
        return piece_fault{
            errc::shape_mismatch,
            words("has the shape ", value.shape, ", but a piece is ", extent_text(p.target_box()))};
    data_type const dtype = result(p.stored, p.steps);
    if (dtype != value.dtype)
        return piece_fault{errc::dtype_mismatch, words("is ", value.dtype, ", but its piece ",
                                                       p.target_box(), " is ", dtype)};
    return std::nullopt;
}

RESHARD_DECL std::optional<piece_fault> find_cover_fault(expression const& value) {
    box const box = whole(value.shape);
    if (is_empty(box) || (value.pieces.size() == 1 && value.pieces[0].target_box() == box))
        return std::nullopt;
    box_index const index(value.pieces.target_boxes());
    if (auto const fault = find_overlap(index))
        return piece_fault{errc::overlap,
                           words("has two sources for its elements ", fault->where, ": the pieces ",
                                 index[fault->first], " and ", index[fault->second])};
    if (auto const gap = uncovered(box, index))
        return piece_fault{errc::not_covered,
                           words("has no source for its elements ", *gap, " of ", value.shape)};
    return std::nullopt;
}

RESHARD_DECL std::optional<piece_fault> find_piece_fault(mapping_output const& output,
                                                         source_list const& sources) {
    expression const& value = output.value;
    std::optional<piece_fault> fault;
    if (value.pieces.size() > 0 && value.pieces.ndim() != value.ndim())
        fault = {errc::shape_mismatch, words("has ", counted(value.ndim(), "axis"),
                                             ", but its pieces have ", value.pieces.ndim())};
    for (std::size_t i = 0; i < value.pieces.size() && !fault; ++i) {
        fault = find_target_fault(value.pieces[i], value);
        if (!fault)
            fault = find_source_fault(value.pieces[i], sources);
    }
    if (!fault)
        fault = find_cover_fault(value);
    if (fault)
        fault->message = "'" + output.key + "' " + fault->message;
    return fault;
}

RESHARD_DECL std::optional<chain_step> find_rounding(piece const& p) {
    for (chain_step const& step : p.steps.steps())
        if (step.computes != chain_step::operation::none || !is_lossless(p.stored, step.dtype))
            return step;
    return std::nullopt;
}

/// Records which source elements a tensor's pieces use; skips a piece that fits no source.
///
/// \param last a step of the tensor after its pieces'
inline void add_usage(vector<source_usage>& usages, source_list const& sources,
                      expression const& value, std::optional<chain_step> const& last = {}) {
    for (std::size_t i = 0; i < value.pieces.size(); ++i) {
        piece const p = value.pieces[i];
        if (p.source == zero_source || find_source_fault(p, sources))
            continue;
        source_usage& used = usages[p.source];
        used.read.push_back(p.source_box());
        if (auto const rounding = last ? last : find_rounding(p))
            used.rounding = rounding;
        else
            used.kept.push_back(p.source_box());
    }
}

/// The boxes of a tensor that share no elements with `boxes`; at most the first five.
inline vector<box> gaps_of(index_vector const& shape, box_list boxes) {
    constexpr std::size_t most = 4;
    vector<box> gaps;
    while (gaps.size() <= most) {
        auto const gap = uncovered(whole(shape), box_index(boxes));
        if (!gap)
            break;
        gaps.push_back(*gap);
        boxes.push_back(*gap);
    }
    return gaps;
}

RESHARD_DECL std::optional<loss> loss_beyond(box_list const& boxes, key_id id,
                                             mapping_source const& source) {
    box const full_box = whole(source.shape);
    if (is_empty(full_box) || (boxes.size() == 1 && boxes[0] == full_box))
        return std::nullopt;
    if (boxes.size() == 0)
        return loss{loss::kind::unused, id, std::string(source.key), {full_box}};
    vector<box> gaps = gaps_of(source.shape, boxes);
    if (gaps.empty())
        return std::nullopt;
    bool const has_more = gaps.size() > 4;
    gaps.resize(has_more ? 4 : gaps.size());
    return loss{loss::kind::unused, id, std::string(source.key), std::move(gaps), has_more};
}

RESHARD_DECL std::string boxes_text(loss const& loss) {
    std::string text;
    for (box const& region : loss.boxes)
        text += (text.empty() ? "" : ", ") + to_string(region);
    return text + (loss.has_more ? " and more" : "");
}

RESHARD_DECL vector<source_usage> usages_of(mapping const& map) {
    vector<source_usage> usages;
    usages.reserve(map.sources().size());
    for (mapping_source const& source : map.sources())
        usages.push_back({box_list(source.shape.size()), box_list(source.shape.size()), {}});
    for (mapping_output const& output : map.outputs())
        add_usage(usages, map.sources(), output.value);
    for (quantised_value const& quantised : map.quantised()) {
        add_usage(
            usages, map.sources(), quantised.value,
            chain_step{map.sources()[quantised.first].dtype, chain_step::operation::multiply, 1});
        for (expression const& scales : quantised.kept)
            add_usage(usages, map.sources(), scales);
    }
    return usages;
}

RESHARD_DECL vector<loss> losses_of(mapping const& map, vector<source_usage> const& usages) {
    std::unordered_set<std::string_view> const removed(map.removed().begin(), map.removed().end());
    vector<loss> losses;
    for (key_id id = 0; id < usages.size(); ++id) {
        mapping_source const source = map.sources()[id];
        auto lost = loss_beyond(usages[id].kept, id, source);
        if (!lost)
            continue;
        if (removed.contains(source.key) && usages[id].read.size() == 0)
            lost->type = loss::kind::removed;
        else if (auto unread = loss_beyond(usages[id].read, id, source))
            lost = std::move(unread);
        else {
            lost->type = loss::kind::rounded;
            lost->step = usages[id].rounding;
        }
        losses.push_back(std::move(*lost));
    }
    return losses;
}

RESHARD_DECL std::string describe(loss const& loss, mapping_source const& source) {
    if (loss.type == loss::kind::removed)
        return "is removed";
    if (loss.type == loss::kind::rounded)
        switch (loss.step->computes) {
        case chain_step::operation::none:
            return words("is rounded on the way from ", source.dtype, " to ", loss.step->dtype);
        case chain_step::operation::dequantize:
            return words("is multiplied by its scales on the way, and rounded to ",
                         loss.step->dtype);
        default: return words("is computed on the way, and rounded to ", loss.step->dtype);
        }
    if (loss.boxes.size() == 1 && loss.boxes[0] == whole(source.shape))
        return "is not used by any target";
    return words("has elements that no target uses: ", boxes_text(loss), " of ", source.shape);
}

} // namespace reshard::detail

#endif
