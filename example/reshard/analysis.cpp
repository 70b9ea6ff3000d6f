// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "analysis.hpp"

#include <reshard/shard/cover.hpp>

#include <algorithm>
#include <optional>

namespace tool {

using namespace reshard;

namespace {

/// What of one source tensor is used.
struct usage {
    box_list read;                     ///< boxes whose elements arrive, rounded or not
    box_list kept;                     ///< boxes whose elements arrive as they are
    std::optional<data_type> rounding; ///< a data type on the way that does not hold every value
};

/// The first data type of a chain that does not hold all that the source does.
std::optional<data_type> find_rounding(piece const& part) {
    for (data_type const dtype : part.casts.steps())
        if (!is_lossless(part.stored, dtype))
            return dtype;
    return std::nullopt;
}

std::vector<usage> usages_of(mapping const& map) {
    std::vector<usage> usages;
    for (mapping_source const& source : map.sources())
        usages.push_back(
            {box_list(source.shape.size()), box_list(source.shape.size()), std::nullopt});
    for (mapping_output const& output : map.outputs())
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i) {
            piece const part = output.value.pieces[i];
            if (part.source == zero_source)
                continue;
            usages[part.source].read.push_back(part.source_box());
            if (auto const rounding = find_rounding(part))
                usages[part.source].rounding = rounding;
            else
                usages[part.source].kept.push_back(part.source_box());
        }
    return usages;
}

std::string unread_text(box const& rest, mapping_source const& source) {
    return "has elements that no target uses: " + to_string(rest) + " of " +
           to_string(source.shape);
}

std::optional<std::string> find_loss(mapping_source const& source, usage const& used) {
    box const all = whole(source.shape);
    if (is_empty(all))
        return std::nullopt;
    auto const lost = reshard::detail::uncovered(all, box_index(used.kept));
    if (!lost)
        return std::nullopt;
    if (used.rounding)
        return "is rounded on the way from " + std::string(name(source.dtype)) + " to " +
               std::string(name(*used.rounding));
    if (used.kept.size() == 0)
        return "is used by no target";
    return unread_text(*lost, source);
}

} // namespace

key_classes classify(mapping const& map) {
    key_classes classes;
    classes.removed = map.removed();
    for (mapping_output const& output : map.outputs()) {
        if (output.added)
            classes.added.push_back(output.key);
        else if (!is_source_box(output.value) ||
                 map.sources()[output.value.pieces.source(0)].shape != output.value.shape)
            classes.transformed.push_back(output.key);
        else if (map.sources()[output.value.pieces.source(0)].key == output.key)
            classes.identity.push_back(output.key);
        else
            classes.renamed.push_back(output.key);
    }
    return classes;
}

std::vector<loss> losses_of(mapping const& map) {
    std::vector<usage> const usages = usages_of(map);
    std::vector<loss> losses;
    for (std::size_t id = 0; id < usages.size(); ++id)
        if (auto text = find_loss(map.sources()[id], usages[id]))
            losses.push_back({map.sources()[id].key, std::move(*text)});
    return losses;
}

std::vector<loss> unread_parts(mapping const& map) {
    std::vector<usage> const usages = usages_of(map);
    std::vector<loss> found;
    for (std::size_t id = 0; id < usages.size(); ++id) {
        mapping_source const& source = map.sources()[id];
        if (usages[id].read.size() == 0)
            continue;
        if (auto const rest =
                reshard::detail::uncovered(whole(source.shape), box_index(usages[id].read)))
            found.push_back({source.key, unread_text(*rest, source)});
    }
    return found;
}

} // namespace tool
