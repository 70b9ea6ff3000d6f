// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_LOSSES_HPP
#define RESHARD_EXPR_LOSSES_HPP

#include <reshard/expr/check_pieces.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/cover.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

/// \file
/// What of the source does not reach the target: why a mapping cannot be undone.

namespace reshard {

/// What is lost of a source tensor, and how. Whatever has no losses can be undone.
struct loss {
    enum class kind {
        removed, ///< a statement says that nothing uses it
        unused,  ///< no target uses all of it
        rounded, ///< a data type on the way does not hold every value
    } what;
    key_id source = 0;
    std::string key;             ///< of the source tensor
    std::vector<box> boxes = {}; ///< of it, that are lost; the first ones, where there are many
    bool has_more = false;       ///< than `boxes`
    std::optional<data_type> dtype = {}; ///< that does not hold every value

    bool operator==(loss const&) const = default;
};

/// What of one source tensor a mapping uses.
struct source_usage {
    box_list read;                     ///< boxes whose elements arrive, rounded or not
    box_list kept;                     ///< boxes whose elements arrive as they are
    std::optional<data_type> rounding; ///< a data type on the way that does not hold every value
};

/// The first data type on the way of a piece that does not hold all that the source does.
inline std::optional<data_type> find_rounding(piece const& part) {
    for (data_type const dtype : part.casts.steps())
        if (!is_lossless(part.stored, dtype))
            return dtype;
    return std::nullopt;
}

namespace detail {

/// Notes what the pieces of a tensor use of the sources; a piece that fits no source is passed over.
inline void add_usage(std::vector<source_usage>& usages, source_list const& sources,
                      expression const& value) {
    for (std::size_t i = 0; i < value.pieces.size(); ++i) {
        piece const part = value.pieces[i];
        if (part.source == zero_source || find_source_fault(part, sources))
            continue;
        source_usage& used = usages[part.source];
        used.read.push_back(part.source_box());
        if (auto const rounding = find_rounding(part))
            used.rounding = rounding;
        else
            used.kept.push_back(part.source_box());
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

} // namespace detail

/// The loss of what `held` does not have of a source tensor, or nothing.
inline std::optional<loss> loss_beyond(box_list const& held, key_id id,
                                       mapping_source const& source) {
    box const all = whole(source.shape);
    if (is_empty(all) || (held.size() == 1 && held[0] == all))
        return std::nullopt;
    if (held.size() == 0)
        return loss{loss::kind::unused, id, std::string(source.key), {all}};
    std::vector<box> gaps = detail::gaps_of(source.shape, held);
    if (gaps.empty())
        return std::nullopt;
    bool const has_more = gaps.size() > 4;
    gaps.resize(has_more ? 4 : gaps.size());
    return loss{loss::kind::unused, id, std::string(source.key), std::move(gaps), has_more};
}

/// The boxes that are lost, as messages list them.
inline std::string boxes_text(loss const& one) {
    std::string text;
    for (box const& region : one.boxes)
        text += (text.empty() ? "" : ", ") + to_string(region);
    return text + (one.has_more ? " and more" : "");
}

/// What of each source tensor a mapping uses.
inline std::vector<source_usage> usages_of(mapping const& map) {
    std::vector<source_usage> usages;
    usages.reserve(map.sources().size());
    for (mapping_source const& source : map.sources())
        usages.push_back({box_list(source.shape.size()), box_list(source.shape.size()), {}});
    for (mapping_output const& output : map.outputs())
        detail::add_usage(usages, map.sources(), output.value);
    return usages;
}

/// All that is lost, once for each source tensor at most, in their order. Tensors without elements
/// lose nothing.
inline std::vector<loss> losses_of(mapping const& map, std::vector<source_usage> const& usages) {
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

/// The same for a mapping of which nothing else is to be known.
inline std::vector<loss> losses_of(mapping const& map) { return losses_of(map, usages_of(map)); }

/// The words that go on after the key of a lost tensor.
inline std::string describe(loss const& one, mapping_source const& source) {
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

} // namespace reshard

#endif
