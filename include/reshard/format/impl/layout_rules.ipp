// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_LAYOUT_RULES_IPP
#define RESHARD_FORMAT_IMPL_LAYOUT_RULES_IPP

#include <reshard/format/layout_rules.hpp>

#include <reshard/format/checked_at.hpp>

namespace reshard::detail {

inline mesh mesh_from(json_cursor const& place) {
    std::vector<mesh_axis> axes;
    for (json_cursor const& element : place.elements()) {
        auto const pair = element.elements();
        if (pair.size() != 2)
            element.refuse("a mesh axis is a name and a number of ranks, as in [\"tp\", 4]");
        index_t const extent = pair[1].count();
        std::string const name = pair[0].text();
        axes.push_back(checked_at(element, [&] { return mesh_axis(name, extent); }));
    }
    mesh const ranks = checked_at(place, [&] { return mesh(axes); });
    check_rank_count(place, ranks.rank_count());
    return ranks;
}

inline std::vector<index_t> counts_from(json_cursor const& place) {
    std::vector<index_t> counts;
    for (json_cursor const& element : place.elements())
        counts.push_back(element.count());
    return counts;
}

/// `1`, `{"axis": 1, "split": "ceil" or "even" or [extents]}`, or `{"axis": 1, "block": extent}`.
inline placement placement_from(json_cursor const& place) {
    if (place.is_count())
        return shard{static_cast<std::size_t>(place.count())};
    if (!place.is_object())
        place.refuse("an axis or an object with \"axis\" and \"split\" is needed");
    bool const is_cyclic = place.find("block").has_value();
    place.check_names({"axis", is_cyclic ? "block" : "split"});
    auto const axis = static_cast<std::size_t>(place.at("axis").count());
    if (is_cyclic)
        return block_cyclic{axis, place.at("block").count()};
    auto const split = place.find("split");
    if (!split)
        return shard{axis};
    if (split->is_array())
        return {axis, counts_from(*split)};
    std::string const rule = split->text();
    if (rule != "ceil" && rule != "even")
        split->refuse("unknown split '" + rule +
                      "'; it must be 'ceil', 'even' or a list of extents");
    return shard{axis, rule == "even" ? split_rule::even : split_rule::ceil};
}

inline layout_rule rule_from(json_cursor const& place, mesh const& ranks) {
    place.check_names({"match", "shard"});
    layout_rule rule{key_pattern(place.at("match").text()), std::vector<placement>(ranks.ndim())};
    auto const cuts = place.find("shard");
    if (!cuts)
        return rule;
    for (auto const& [name, cut] : cuts->members()) {
        std::size_t const axis =
            checked_at(cut, [&, &mesh_name = name] { return ranks.axis(mesh_name); });
        rule.placements[axis] = placement_from(cut);
    }
    return rule;
}

inline std::vector<key_pattern> patterns_from(json_cursor const& place, std::string_view name) {
    std::vector<key_pattern> patterns;
    if (auto const member = place.find(name))
        for (json_cursor const& element : member->elements())
            patterns.emplace_back(element.text());
    return patterns;
}

/// Reads `layers` and `counts`, which go together.
inline void layers_from(json_cursor const& place, mesh const& ranks, layout_stages& stages) {
    constexpr std::string_view mark = "{layer}";
    std::string const layers = place.at("layers").text();
    std::size_t const begin = layers.find(mark);
    if (begin == layers.npos)
        place.at("layers").refuse("'" + layers + "' has no {layer}");
    stages.has_layers = true;
    stages.layer_prefix = layers.substr(0, begin);
    stages.layer_suffix = layers.substr(begin + mark.size());
    stages.counts = counts_from(place.at("counts"));
    mesh_axis const& axis = ranks.all_axes[stages.axis];
    if (static_cast<index_t>(stages.counts.size()) != axis.extent)
        place.at("counts").refuse(std::to_string(stages.counts.size()) +
                                  " counts, but mesh axis '" + std::string(axis.name()) + "' has " +
                                  std::to_string(axis.extent) + " stages");
}

inline layout_stages stages_from(json_cursor const& place, mesh const& ranks) {
    place.check_names({"mesh_axis", "layers", "counts", "first", "last"});
    layout_stages stages;
    json_cursor const axis = place.at("mesh_axis");
    std::string const name = axis.text();
    stages.axis = checked_at(axis, [&] { return ranks.axis(name); });
    if (place.find("layers") || place.find("counts"))
        layers_from(place, ranks, stages);
    stages.first = patterns_from(place, "first");
    stages.last = patterns_from(place, "last");
    return stages;
}

RESHARD_DECL layout_rules layout_rules_from(json_cursor const& root, std::string_view file) {
    root.check_names({"mesh", "stages", "rules"});
    layout_rules result{std::string(file), mesh_from(root.at("mesh")), {}, {}};
    if (auto const stages = root.find("stages"))
        result.stages = stages_from(*stages, result.ranks);
    if (auto const rules = root.find("rules"))
        for (json_cursor const& rule : rules->elements())
            result.rules.push_back(rule_from(rule, result.ranks));
    return result;
}

} // namespace reshard::detail

#endif
