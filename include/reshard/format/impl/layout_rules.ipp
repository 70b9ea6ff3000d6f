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
        cursor.check_names({"axis", "split", "parts", "heads"});
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

/// Reads the extents of fused tensors, their ratio, such as `[4, 1, 1]`, or a number of equal ones.
inline index_vector ratio_from(json_cursor const& cursor) {
    constexpr index_t most = index_t{1} << 40;
    vector<index_t> ratio;
    if (!cursor.is_count())
        ratio = counts_from(cursor);
    else if (cursor.count() <= index_t{max_ndim})
        ratio.resize(static_cast<std::size_t>(cursor.count()), 1);
    if (ratio.size() < 2 || ratio.size() > max_ndim ||
        !std::ranges::all_of(ratio, [](index_t index) { return index > 0 && index <= most; }))
        cursor.refuse(words("expected the extents of 2 to ", max_ndim,
                            " tensors, or their ratio, as in [4, 1, 1]; each is at most 2^40"));
    return {ratio.begin(), ratio.end()};
}

/// Reads `fused` of a rule that cuts one axis.
inline void read_fused(json_cursor const& cursor, layout_rule& rule) {
    rule.fused = ratio_from(cursor);
    std::set<std::size_t> axes;
    for (placement const& cut : rule.placements)
        if (cut.cuts())
            axes.insert(cut.axis);
    if (axes.size() != 1)
        cursor.refuse(words("the rule cuts ", counted(axes.size(), "axis"),
                            " of the tensor, but fused tensors must be cut along exactly one"));
    rule.fused_axis = *axes.begin();
    for (placement const& cut : rule.placements)
        if (cut.type == placement::kind::cyclic)
            cursor.refuse("fused tensors cannot be cut into blocks that are assigned in turn");
}

/// Reads the parts of a fused tensor in a cut, and their heads.
inline void read_parts(json_cursor const& cut, layout_rule& rule) {
    auto const parts = cut.find("parts"), heads = cut.find("heads");
    if (!parts) {
        if (heads)
            heads->refuse("'heads' needs 'parts', such as [4096, 1024, 1024]");
        return;
    }
    if (!rule.fused.empty())
        parts->refuse("the rule has 'fused' or 'parts' already; state the parts once");
    rule.fused = ratio_from(*parts);
    rule.fused_axis = static_cast<std::size_t>(cut.at("axis").count());
    if (!heads)
        return;
    for (index_t const count : counts_from(*heads))
        rule.heads.push_back(count);
    if (rule.heads.size() != rule.fused.size() || std::ranges::count(rule.heads, 0) > 0)
        heads->refuse(words("expected a number of heads, at least 1, for each of ",
                            rule.fused.size(), " parts"));
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
        read_fused(*fused, rule);
    if (auto const cuts = cursor.find("shard"))
        for (auto const& [name, cut] : cuts->members())
            if (cut.is_object())
                read_parts(cut, rule);
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
        layout_rule const* const rule = rule_of(entry.key);
        vector<placement> placements =
            rule ? rule->placements : vector<placement>(book_.ranks.ndim());
        auto const stages = stages_of(entry.key);
        if (stages.empty())
            add(row, placements, rule);
        for (index_t const stage : stages) {
            placement& staged = placements[book_.stages->axis];
            if (staged.cuts())
                fail(errc::bad_layout, book_.file, ": '", entry.key, "' is placed on stage ", stage,
                     " of mesh axis '", stage_axis(), "', so this axis cannot cut it");
            staged = only{stage};
            add(row, placements, rule);
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

    /// The rule of a key; null if none matches.
    layout_rule const* rule_of(std::string const& key) {
        layout_rule const* const rule = book_.rule_of(key);
        if (rule)
            used_[static_cast<std::size_t>(rule - book_.rules.data())] = true;
        else
            unmatched_.add(key);
        return rule;
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

    void add(layout_row& row, vector<placement> const& placements, layout_rule const* rule) const {
        try {
            if (rule && !rule->fused.empty())
                add_parts(row, placements, *rule);
            else
                append(row.shards, distribution(book_.ranks, placements, row.shape, row.key));
        } catch (error const& thrown) {
            fail(thrown.code(), book_.file, ": ", thrown.what());
        }
    }

    /// Adds the shards of each part of a fused tensor. Equal parts whose shares are equal, too, are
    /// blocks at equal distances, which a rank has as one shard.
    void add_parts(layout_row& row, vector<placement> placements, layout_rule const& rule) const {
        std::size_t const axis = rule.fused_axis;
        vector<std::size_t> cuts; // the axes of the mesh that cut it
        for (std::size_t i = 0; i < placements.size(); ++i)
            if (placements[i].cuts() && placements[i].axis == axis)
                cuts.push_back(i);
        if (axis >= row.shape.size())
            fail(errc::bad_layout, "'", row.key, "' has no axis ", axis, " to cut");
        index_t const extent = row.shape[axis];
        index_t sum = 0;
        for (index_t const part : rule.fused)
            sum += part;
        if (extent % sum != 0)
            fail(errc::bad_layout, "'", row.key, "': axis ", axis, " has ", extent,
                 " elements, which are not parts in the ratio ", rule.fused);
        index_t const ranks = book_.ranks.all_axes[cuts.front()].extent;
        index_t const share = extent / sum * rule.fused[0] / ranks;
        bool const is_equal = std::ranges::count(rule.fused, rule.fused[0]) ==
                              static_cast<std::ptrdiff_t>(rule.fused.size());
        placement const& only_cut = placements[cuts.front()];
        if (is_equal && cuts.size() == 1 && rule.heads.empty() && ranks > 1 && share > 0 &&
            share * ranks * std::ssize(rule.fused) == extent && only_cut.sizes.empty()) {
            placements[cuts.front()] = block_cyclic{axis, share};
            append(row.shards, distribution(book_.ranks, placements, row.shape, row.key));
            return;
        }
        index_t begin = 0;
        for (std::size_t i = 0; i < rule.fused.size(); ++i) {
            index_vector shape = row.shape;
            shape[axis] = extent / sum * rule.fused[i];
            shard_table shards(shape.size());
            if (rule.heads.empty())
                append(shards, distribution(book_.ranks, placements, shape, row.key));
            else
                append(shards, with_heads(placements, cuts, shape, rule.heads[i], row.key));
            for (std::size_t k = 0; k < shards.size(); ++k) {
                box region = shards.region(k);
                region.offset[axis] += begin;
                row.shards.push_back(shards.holder(k), region, shards.flat(k), shards.cycles(k));
            }
            begin += shape[axis];
        }
    }

    /// The distribution of a part that consists of heads: each rank has several of them, or, of
    /// fewer heads than ranks, neighbouring ranks have copies of one.
    distribution with_heads(vector<placement> placements, vector<std::size_t> const& cuts,
                            index_vector const& shape, index_t heads,
                            std::string const& key) const {
        mesh const& ranks = book_.ranks;
        std::size_t const cut = cuts.front(), axis = placements[cut].axis;
        index_t const extent = ranks.all_axes[cut].extent;
        bool const is_copied = extent > heads && extent % heads == 0;
        if (cuts.size() != 1 || shape[axis] % heads != 0 || (heads % extent != 0 && !is_copied))
            fail(errc::bad_layout, "'", key, "': a part of ", shape[axis], " elements along axis ",
                 axis, " has ", heads, " heads, which ", extent, " ranks of mesh axis '",
                 ranks.all_axes[cut].name(), "' can neither share nor copy evenly",
                 cuts.size() == 1 ? "" : ", as other mesh axes cut it, too");
        if (!is_copied)
            return distribution(ranks, placements, shape, key);
        vector<mesh_axis> axes(ranks.axes().begin(), ranks.axes().end());
        axes[cut].extent = heads;
        auto const next = static_cast<std::ptrdiff_t>(cut) + 1;
        axes.insert(axes.begin() + next, mesh_axis("copies of heads", extent / heads));
        placements.insert(placements.begin() + next, placement(replicate()));
        return distribution(mesh(axes), placements, shape, key);
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
