// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_APPLY_RULES_IPP
#define RESHARD_FORMAT_IMPL_APPLY_RULES_IPP

#include <reshard/format/apply_rules.hpp>

#include <reshard/layout/distribution.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace reshard {

namespace detail {

/// The number of the layer that a key belongs to, or nothing.
inline std::optional<index_t> layer_of(std::string_view key, layout_stages const& stages) {
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

/// True where a pattern matches the key; notes which do.
inline bool matches_any(std::vector<key_pattern> const& patterns, std::string_view key,
                        std::vector<bool>& used) {
    bool found = false;
    for (std::size_t i = 0; i < patterns.size(); ++i)
        if (patterns[i].matches(key))
            found = used[i] = true;
    return found;
}

/// Where the keys of a layout file go, and which of its rules were used.
class rule_book {
public:
    explicit rule_book(layout_rules const& book) : book_(book), used_(book.rules.size()) {
        if (book.stages) {
            used_first_ = std::vector<bool>(book.stages->first.size());
            used_last_ = std::vector<bool>(book.stages->last.size());
        }
    }

    layout_row row_of(catalog_entry const& entry) {
        layout_row row{entry.key, entry.dtype, entry.shape, shard_table(entry.shape.size())};
        std::vector<placement> placements = placements_of(entry.key);
        auto const stages = stages_of(entry.key);
        if (stages.empty())
            add(row, placements);
        for (index_t const stage : stages) {
            placement& staged = placements[book_.stages->axis];
            if (staged.cuts())
                fail(errc::bad_layout, book_.file + ": '" + entry.key + "' is placed on stage " +
                                           std::to_string(stage) + " of mesh axis '" +
                                           stage_axis() + "', so this axis cannot cut it");
            staged = only{stage};
            add(row, placements);
        }
        row.shards = sorted_by_holder(row.shards);
        return row;
    }

    std::vector<std::string> notes() const {
        std::vector<std::string> result;
        for (std::size_t i = 0; i < used_.size(); ++i)
            if (!used_[i])
                result.push_back(book_.file + ": rules[" + std::to_string(i) +
                                 "]: no key matches, or "
                                 "earlier rules take all that match '" +
                                 book_.rules[i].match.text() + "'");
        if (book_.stages)
            add_stage_notes(result);
        if (unruled_count_ > 0)
            result.push_back(book_.file + ": " + std::to_string(unruled_count_) +
                             " keys match no rule and are replicated: " + unruled_ +
                             (unruled_count_ > most_named
                                  ? " and " + std::to_string(unruled_count_ - most_named) + " more"
                                  : ""));
        return result;
    }

private:
    /// What of the stages no key uses.
    void add_stage_notes(std::vector<std::string>& notes) const {
        auto const add = [&](std::string const& what, std::vector<bool> const& used,
                             std::vector<key_pattern> const& patterns) {
            for (std::size_t i = 0; i < used.size(); ++i)
                if (!used[i])
                    notes.push_back(book_.file + ": stages." + what + "[" + std::to_string(i) +
                                    "]: no key matches '" + patterns[i].text() + "'");
        };
        add("first", used_first_, book_.stages->first);
        add("last", used_last_, book_.stages->last);
        index_t placed = 0;
        for (index_t const count : book_.stages->counts)
            placed += count;
        if (placed > layers_)
            notes.push_back(book_.file + ": stages.counts place " + std::to_string(placed) +
                            " layers, but the keys have " + std::to_string(layers_) +
                            " (counted from 0): the last stages lack some of theirs");
    }

    std::string stage_axis() const {
        return std::string(book_.ranks.all_axes[book_.stages->axis].name());
    }

    std::vector<placement> placements_of(std::string const& key) {
        for (std::size_t i = 0; i < book_.rules.size(); ++i)
            if (book_.rules[i].match.matches(key)) {
                used_[i] = true;
                return book_.rules[i].placements;
            }
        if (unruled_count_++ < most_named)
            unruled_ += (unruled_.empty() ? "'" : ", '") + key + "'";
        return std::vector<placement>(book_.ranks.ndim());
    }

    /// The stages that hold the key, in order; nothing where all do.
    std::vector<index_t> stages_of(std::string const& key) {
        if (!book_.stages)
            return {};
        std::vector<index_t> stages;
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
        fail(errc::bad_layout, book_.file + ": '" + key + "' belongs to layer " +
                                   std::to_string(layer) + ", but stages.counts place only " +
                                   std::to_string(layer - left) + " layers");
    }

    void add(layout_row& row, std::vector<placement> const& placements) const {
        try {
            append(row.shards, distribution(book_.ranks, placements, row.shape, row.key));
        } catch (error const& thrown) {
            fail(thrown.code(), book_.file + ": " + thrown.what());
        }
    }

    static constexpr std::size_t most_named = 5;

    layout_rules const& book_;
    std::vector<bool> used_;
    std::vector<bool> used_first_;
    std::vector<bool> used_last_;
    index_t layers_ = 0; ///< one more than the highest number of a layer
    std::string unruled_;
    std::size_t unruled_count_ = 0;
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
