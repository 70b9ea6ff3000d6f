// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_LAYOUT_RULES_IPP
#define RESHARD_FORMAT_IMPL_LAYOUT_RULES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/layout_file.hpp>

#include <reshard/layout/distribution.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace reshard {

namespace detail {

RESHARD_DECL void check_rank_count(json_cursor const& cursor, index_t ranks) {
    if (ranks > most_ranks_named)
        cursor.refuse(errc::limit_exceeded,
                      words("a layout of ", ranks, " ranks is too large; at most ",
                            most_ranks_named, " are supported"));
}

inline mesh mesh_from(json_cursor const& cursor) {
    vector<mesh_axis> axes;
    for (json_cursor const& element : cursor.elements()) {
        auto const pair = element.elements();
        if (pair.size() != 2)
            element.refuse("a mesh axis must be a name and a number of ranks, as in [\"tp\", 4]");
        index_t const extent = pair[1].count();
        std::string const name = pair[0].text();
        axes.push_back(checked_at(element, [&] { return mesh_axis(name, extent); }));
    }
    mesh const ranks = checked_at(cursor, [&] { return mesh(axes); });
    check_rank_count(cursor, ranks.rank_count());
    return ranks;
}

inline vector<index_t> counts_from(json_cursor const& cursor) {
    vector<index_t> counts;
    for (json_cursor const& element : cursor.elements())
        counts.push_back(element.count());
    return counts;
}

/// Reads a placement: `1`, `{"axis": 1, "split": "ceil" or "even" or [extents]}`, or `{"axis": 1,
/// "block": extent}`, each optionally with `"first": coordinate`.
inline placement placement_from(json_cursor const& cursor) {
    if (cursor.is_count())
        return shard{static_cast<std::size_t>(cursor.count())};
    if (!cursor.is_object())
        cursor.refuse("expected an axis, or an object with \"axis\" and \"split\"");
    bool const is_cyclic = cursor.find("block").has_value();
    if (is_cyclic)
        cursor.check_names({"axis", "block", "first"});
    else
        cursor.check_names({"axis", "split"});
    auto const axis = static_cast<std::size_t>(cursor.at("axis").count());
    auto const first = cursor.find("first");
    if (is_cyclic)
        return block_cyclic{axis, cursor.at("block").count(), first ? first->count() : index_t{0}};
    auto const split = cursor.find("split");
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

/// Reads a ratio, such as `[4, 1, 1]`, in a rule that cuts one axis.
inline index_vector fused_from(json_cursor const& cursor, layout_rule const& rule) {
    constexpr index_t most = index_t{1} << 40;
    vector<index_t> const ratio = counts_from(cursor);
    if (ratio.size() < 2 || ratio.size() > max_ndim ||
        !std::ranges::all_of(ratio, [](index_t index) { return index > 0 && index <= most; }))
        cursor.refuse(words("expected the extents of 2 to ", max_ndim,
                            " tensors, or their ratio, as in [4, 1, 1]"));
    std::set<std::size_t> axes;
    for (placement const& cut : rule.placements)
        if (cut.cuts())
            axes.insert(cut.axis);
    if (axes.size() != 1)
        cursor.refuse(words("the rule cuts ", counted(axes.size(), "axis"),
                            " of the tensor, but fused tensors must be cut along exactly one"));
    return {ratio.begin(), ratio.end()};
}

inline layout_rule rule_from(json_cursor const& cursor, mesh const& ranks) {
    cursor.check_names({"match", "shard", "fused"});
    layout_rule rule{key_pattern(cursor.at("match").text()), vector<placement>(ranks.ndim())};
    if (auto const cuts = cursor.find("shard"))
        for (auto const& [name, cut] : cuts->members()) {
            std::size_t const axis =
                checked_at(cut, [&, &mesh_name = name] { return ranks.axis(mesh_name); });
            rule.placements[axis] = placement_from(cut);
        }
    if (auto const fused = cursor.find("fused"))
        rule.fused = fused_from(*fused, rule);
    return rule;
}

inline vector<key_pattern> patterns_from(json_cursor const& cursor, std::string_view name) {
    vector<key_pattern> patterns;
    if (auto const member = cursor.find(name))
        for (json_cursor const& element : member->elements())
            patterns.emplace_back(element.text());
    return patterns;
}

/// Reads `layers` and `counts`, which must occur together.
inline void layers_from(json_cursor const& cursor, mesh const& ranks, layout_stages& stages) {
    constexpr std::string_view mark = "{layer}";
    std::string const layers = cursor.at("layers").text();
    std::size_t const begin = layers.find(mark);
    if (begin == layers.npos)
        cursor.at("layers").refuse("'" + layers + "' has no {layer}");
    stages.has_layers = true;
    stages.layer_prefix = layers.substr(0, begin);
    stages.layer_suffix = layers.substr(begin + mark.size());
    stages.counts = counts_from(cursor.at("counts"));
    mesh_axis const& axis = ranks.all_axes[stages.axis];
    if (static_cast<index_t>(stages.counts.size()) != axis.extent)
        cursor.at("counts").refuse(words(stages.counts.size(), " counts, but mesh axis '",
                                         axis.name(), "' has ", axis.extent, " stages"));
}

inline layout_stages stages_from(json_cursor const& cursor, mesh const& ranks) {
    cursor.check_names({"mesh_axis", "layers", "counts", "first", "last"});
    layout_stages stages;
    json_cursor const axis = cursor.at("mesh_axis");
    std::string const name = axis.text();
    stages.axis = checked_at(axis, [&] { return ranks.axis(name); });
    if (cursor.find("layers") || cursor.find("counts"))
        layers_from(cursor, ranks, stages);
    stages.first = patterns_from(cursor, "first");
    stages.last = patterns_from(cursor, "last");
    return stages;
}

RESHARD_DECL layout_rules layout_rules_from(json_cursor const& root, std::string_view file) {
    root.check_names({"files", "mesh", "stages", "rules"});
    layout_rules result{std::string(file), mesh_from(root.at("mesh")), {}, {}};
    if (auto const stages = root.find("stages"))
        result.stages = stages_from(*stages, result.ranks);
    if (auto const rules = root.find("rules"))
        for (json_cursor const& rule : rules->elements())
            result.rules.push_back(rule_from(rule, result.ranks));
    return result;
}

RESHARD_DECL std::optional<index_t> layer_of(std::string_view key, layout_stages const& stages) {
    if (!stages.has_layers || !key.starts_with(stages.layer_prefix))
        return std::nullopt;
    key.remove_prefix(stages.layer_prefix.size());
    index_t layer = 0;
    auto const [end, ec] = std::from_chars(key.data(), key.data() + key.size(), layer);
    if (ec != std::errc() || layer < 0 || key.starts_with('-'))
        return std::nullopt;
    key.remove_prefix(static_cast<std::size_t>(end - key.data()));
    return key.starts_with(stages.layer_suffix) ? std::optional(layer) : std::nullopt;
}

/// True if a pattern matches the key; records the patterns that match.
inline bool matches_any(vector<key_pattern> const& patterns, std::string_view key,
                        vector<bool>& used) {
    bool is_match = false;
    for (std::size_t i = 0; i < patterns.size(); ++i)
        if (patterns[i].matches(key))
            is_match = used[i] = true;
    return is_match;
}

/// Replaces numbers: `model.layers.12.norm` becomes `model.layers.*.norm`.
inline std::string kind_of_key(std::string_view key) {
    std::string kind;
    for (std::size_t at = 0; at <= key.size();) {
        std::size_t const end = std::min(key.find('.', at), key.size());
        std::string_view const name = key.substr(at, end - at);
        bool const is_number = !name.empty() && name.find_first_not_of("0123456789") == name.npos;
        kind += (at == 0 ? "" : ".") + std::string(is_number ? "*" : name);
        at = end + 1;
    }
    return kind;
}

/// Keys in a message. Keys that differ only in numbers are named once.
class key_kinds {
public:
    void add(std::string const& key) {
        ++count_;
        auto const [position, is_new] = places_.emplace(kind_of_key(key), shown_.size());
        if (is_new)
            shown_.emplace_back(key, 0);
        auto& [shown, count] = shown_[position->second];
        if (++count == 2)
            shown = position->first;
    }

    std::size_t count() const { return count_; }

    /// The keys as text, such as `'l.*.norm' (30), 'norm'`, and the number of other keys.
    std::string text() const {
        std::string text;
        std::size_t left = count_;
        for (std::size_t i = 0; i < std::min(shown_.size(), most_named); ++i) {
            auto const& [kind, count] = shown_[i];
            text += (i == 0 ? "'" : ", '") + kind + "'";
            text += count > 1 ? " (" + std::to_string(count) + ")" : "";
            left -= count;
        }
        return text + (left > 0 ? " and " + std::to_string(left) + " more" : "");
    }

    /// The first key, as a pattern.
    std::string const& first() const { return shown_.front().first; }

private:
    static constexpr std::size_t most_named = 5;

    std::size_t count_ = 0;
    std::map<std::string, std::size_t> places_; ///< by kind
    vector<std::pair<std::string, std::size_t>> shown_;
};

/// The placements that a layout file gives to keys, and the rules that were used.
class rule_book {
public:
    explicit rule_book(layout_rules const& book) : book_(book), used_(book.rules.size()) {
        if (book.stages) {
            used_first_ = vector<bool>(book.stages->first.size());
            used_last_ = vector<bool>(book.stages->last.size());
        }
    }

    layout_row row_of(catalog_entry const& entry) {
        layout_row row{entry.key, entry.dtype, entry.shape, shard_table(entry.shape.size())};
        vector<placement> placements = placements_of(entry.key);
        auto const stages = stages_of(entry.key);
        if (stages.empty())
            add(row, placements);
        for (index_t const stage : stages) {
            placement& staged = placements[book_.stages->axis];
            if (staged.cuts())
                fail(errc::bad_layout, book_.file, ": '", entry.key, "' is placed on stage ", stage,
                     " of mesh axis '", stage_axis(), "', so this axis cannot cut it");
            staged = only{stage};
            add(row, placements);
        }
        row.shards = sorted_by_holder(std::move(row.shards));
        return row;
    }

    vector<std::string> notes() const {
        vector<std::string> result;
        for (std::size_t i = 0; i < used_.size(); ++i)
            if (!used_[i] && !book_.rules[i].match.is_optional())
                result.push_back(
                    book_.file + ": rules[" + std::to_string(i) +
                    "]: earlier rules take every key that matches, or no key matches '" +
                    book_.rules[i].match.text() + "'");
        if (book_.stages)
            add_stage_notes(result);
        if (std::size_t const count = unmatched_.count(); count > 0)
            result.push_back(book_.file + ": " + std::to_string(count) +
                             (count == 1 ? " key matches no rule and is replicated: "
                                         : " keys match no rule and are replicated: ") +
                             unmatched_.text());
        return result;
    }

private:
    /// Adds a note for each pattern and each layer of the stages that no key uses.
    void add_stage_notes(vector<std::string>& notes) const {
        auto const add = [&](std::string const& noun, vector<bool> const& used,
                             vector<key_pattern> const& patterns) {
            for (std::size_t i = 0; i < used.size(); ++i)
                if (!used[i] && !patterns[i].is_optional())
                    notes.push_back(book_.file + ": stages." + noun + "[" + std::to_string(i) +
                                    "]: no key matches '" + patterns[i].text() + "'");
        };
        add("first", used_first_, book_.stages->first);
        add("last", used_last_, book_.stages->last);
        index_t placed = 0;
        for (index_t const count : book_.stages->counts)
            placed += count;
        if (placed > 0 && layers_ == 0)
            fail(errc::unknown_key, book_.file, ": stages.layers: no key begins with '",
                 book_.stages->layer_prefix, "', a number and '", book_.stages->layer_suffix,
                 "'; a '*' is not supported there");
        if (placed > layers_)
            notes.push_back(book_.file + ": stages.counts places " + counted(placed, "layer") +
                            ", but the keys have " + std::to_string(layers_) +
                            " (counted from 0): the last stages lack some of their layers");
    }

    std::string stage_axis() const {
        return std::string(book_.ranks.all_axes[book_.stages->axis].name());
    }

    vector<placement> placements_of(std::string const& key) {
        if (layout_rule const* const rule = book_.rule_of(key)) {
            used_[static_cast<std::size_t>(rule - book_.rules.data())] = true;
            return rule->placements;
        }
        unmatched_.add(key);
        return vector<placement>(book_.ranks.ndim());
    }

    /// The stages that hold the key, in order; empty if every stage holds it.
    vector<index_t> stages_of(std::string const& key) {
        if (!book_.stages)
            return {};
        vector<index_t> stages;
        index_t const last = book_.ranks.all_axes[book_.stages->axis].extent - 1;
        if (matches_any(book_.stages->first, key, used_first_))
            stages.push_back(0);
        if (auto const layer = layer_of(key, *book_.stages)) {
            layers_ = std::max(layers_, *layer + 1);
            stages.push_back(stage_of(key, *layer));
        }
        if (matches_any(book_.stages->last, key, used_last_))
            stages.push_back(last);
        std::sort(stages.begin(), stages.end());
        stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
        return stages;
    }

    index_t stage_of(std::string const& key, index_t layer) const {
        index_t left = layer;
        auto const& counts = book_.stages->counts;
        for (std::size_t stage = 0; stage < counts.size(); ++stage) {
            if (left < counts[stage])
                return static_cast<index_t>(stage);
            left -= counts[stage];
        }
        fail(errc::bad_layout, book_.file, ": '", key, "' belongs to layer ", layer,
             ", but stages.counts places only ", counted(layer - left, "layer"));
    }

    void add(layout_row& row, vector<placement> const& placements) const {
        try {
            append(row.shards, distribution(book_.ranks, placements, row.shape, row.key));
        } catch (error const& thrown) {
            fail(thrown.code(), book_.file, ": ", thrown.what());
        }
    }

    layout_rules const& book_;
    vector<bool> used_;
    vector<bool> used_first_;
    vector<bool> used_last_;
    index_t layers_ = 0; ///< the highest number of a layer plus one
    key_kinds unmatched_;
};

} // namespace detail

RESHARD_DECL detail::layout_table apply(detail::layout_rules const& rules, catalog const& tensors) {
    detail::layout_table table{rules.file, rules.ranks.rank_count(), {}, {}};
    detail::rule_book book(rules);
    for (catalog_entry const& entry : tensors)
        table.rows.push_back(book.row_of(entry));
    table.notes = book.notes();
    return table;
}

} // namespace reshard

#endif
