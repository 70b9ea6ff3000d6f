// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_SCALE_SUFFIX_IPP
#define RESHARD_AOA_IMPL_SCALE_SUFFIX_IPP

#include <reshard/aoa/scale_suffix.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/operation.hpp>
#include <reshard/expr/check.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <variant>

namespace reshard::aoa::detail {

[[noreturn]] inline void refuse_scales(attribute const& attribute, std::string const& why) {
    throw statement_error{errc::syntax,
                          words(why, ", as in scales=\"_scale_inv\", blocks=\"[128, 128]\""),
                          attribute.where};
}

/// The extents in the attribute `blocks`.
inline index_vector block_of(attribute const& blocks) {
    if (!std::holds_alternative<std::string>(blocks.value))
        refuse_scales(blocks, "'blocks' must be a quoted list");
    vector<index_t> const extents = parse_list(blocks);
    if (extents.empty() || extents.size() > max_ndim ||
        std::ranges::any_of(extents, [](index_t extent) { return extent < 1; }))
        refuse_scales(blocks, "'blocks' must have a positive extent for each axis");
    return index_vector(extents.begin(), extents.end());
}

/// Whether `scales` has patterns for tensors and their scales, and not a suffix.
inline bool has_patterns(attribute const* scales) {
    auto const* const text = scales ? std::get_if<std::string>(&scales->value) : nullptr;
    return text && text->find("=>") != text->npos;
}

/// Removes a `?` at the end of a text; returns whether there was one.
inline bool take_question(std::string_view& text) {
    bool const is_optional = text.ends_with('?');
    text.remove_suffix(is_optional);
    return is_optional;
}

/// The suffix for scales in a statement's attributes; std::nullopt if they have none.
///
/// \throws statement_error with errc::syntax if `scales` or `blocks` is missing or occurs twice,
///         the suffix is empty, or the block is invalid
inline std::optional<state_suffix> scale_suffix_of(vector<attribute> const& list) {
    attribute const* const scales = find_attribute(list, "scales");
    attribute const* const blocks = find_attribute(list, "blocks");
    if (!scales && !blocks)
        return std::nullopt;
    for (attribute const& attribute : list)
        if ((attribute.word == "scales" && &attribute != scales) ||
            (attribute.word == "blocks" && &attribute != blocks))
            throw statement_error{errc::syntax, words("'", attribute.word, "' is given twice"),
                                  attribute.where};
    if (has_patterns(scales))
        return std::nullopt;
    if (!scales || !blocks)
        refuse_scales(scales ? *scales : *blocks, "'scales' and 'blocks' must be given together");
    auto const* const text = std::get_if<std::string>(&scales->value);
    std::string_view ending = text ? std::string_view(*text) : std::string_view();
    take_question(ending);
    if (ending.empty())
        refuse_scales(*scales, "'scales' must be a key suffix");
    return state_suffix{std::string(ending), false, block_of(*blocks)};
}

RESHARD_DECL std::optional<std::string_view> starred_key::text_in(std::string_view key) const {
    if (key.size() <= before.size() + after.size() || !key.starts_with(before) ||
        !key.ends_with(after))
        return std::nullopt;
    return key.substr(before.size(), key.size() - before.size() - after.size());
}

RESHARD_DECL std::optional<std::string> scale_pattern::scales_of(std::string_view key) const {
    auto const text = tensor.text_in(key);
    return text ? std::optional(scales.with(*text)) : std::nullopt;
}

RESHARD_DECL quantisation_facts scale_pattern::facts() const {
    quantisation_facts facts;
    if (block)
        facts.blocks.push_back(*block);
    return facts;
}

RESHARD_DECL std::optional<std::string> scale_pattern::tensor_of(std::string_view key) const {
    auto const text = scales.text_in(key);
    return text ? std::optional(tensor.with(*text)) : std::nullopt;
}

/// \throws statement_error with errc::syntax if the text does not have exactly one star
inline starred_key starred(std::string_view text, attribute const& by) {
    auto const is_blank = [](char c) { return c == ' '; };
    text.remove_prefix(
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_blank) - text.begin()));
    while (text.ends_with(' '))
        text.remove_suffix(1);
    std::size_t const star = text.find('*');
    std::size_t const behind = star == text.npos ? star : text.find_first_not_of('*', star);
    bool const is_one =
        star != text.npos && text.find('*', std::min(behind, text.size())) == text.npos;
    if (!is_one)
        throw statement_error{errc::syntax,
                              words("'", text,
                                    "' must have one * for the text that a tensor and its scales "
                                    "have in common, as in scales=\"*.weight_packed => "
                                    "*.weight_scale, *.weight_zero_point?\""),
                              by.where};
    return {std::string(text.substr(0, star)),
            std::string(text.substr(std::min(behind, text.size())))};
}

RESHARD_DECL vector<scale_pattern> scale_patterns(vector<attribute> const& list) {
    attribute const* const by = find_attribute(list, "scales");
    if (!has_patterns(by))
        return {};
    attribute const* const blocks = find_attribute(list, "blocks");
    std::string_view const text = std::get<std::string>(by->value);
    std::size_t const arrow = text.find("=>");
    starred_key const tensor = starred(text.substr(0, arrow), *by);
    vector<scale_pattern> patterns;
    for (std::size_t begin = arrow + 2; begin <= text.size();) {
        std::size_t const end = std::min(text.find(',', begin), text.size());
        std::string_view name = text.substr(begin, end - begin);
        while (name.ends_with(' '))
            name.remove_suffix(1);
        bool const is_optional = take_question(name);
        patterns.push_back({tensor, starred(name, *by), is_optional,
                            blocks ? std::optional(block_of(*blocks)) : std::nullopt});
        begin = end + 1;
    }
    return patterns;
}

RESHARD_DECL vector<scale_pattern> scale_patterns(program const& code) {
    vector<scale_pattern> patterns;
    std::set<std::pair<std::string, std::string>> pairs;
    std::uint32_t last = 0; // statements of a macro share a list; list 0 is empty
    for (statement const& statement : code.statements()) {
        if (statement.attributes == last)
            continue;
        last = statement.attributes;
        try {
            for (scale_pattern& pattern : scale_patterns(code.attributes(statement)))
                if (pairs.emplace(pattern.tensor.with("*"), pattern.scales.with("*")).second &&
                    patterns.size() < max_scale_endings)
                    patterns.push_back(std::move(pattern));
        } catch (statement_error const&) {
            continue;
        }
    }
    return patterns;
}

RESHARD_DECL program with_scale_names(program code, vector<scale_pattern> const& patterns) {
    std::size_t const count = patterns.empty() ? 0 : code.text_count();
    for (std::uint32_t id = 0; id < count; ++id)
        for (scale_pattern const& pattern : patterns)
            if (auto const key =
                    pattern.scales_of(code.text(name{name::kind_type::text, false, id, {}})))
                code.make_text(*key);
    return code;
}

RESHARD_DECL vector<state_suffix> with_scales(vector<state_suffix> suffixes, program const& code) {
    std::size_t const most = suffixes.size() + max_scale_endings;
    std::uint32_t last = 0; // statements of a macro share a list; list 0 is empty
    for (statement const& statement : code.statements()) {
        if (statement.attributes == last)
            continue;
        last = statement.attributes;
        try {
            auto const added = scale_suffix_of(code.attributes(statement));
            if (added && suffixes.size() < most &&
                std::ranges::find(suffixes, added->suffix, &state_suffix::suffix) == suffixes.end())
                suffixes.push_back(*added);
        } catch (statement_error const&) {
            continue;
        }
    }
    return suffixes;
}

RESHARD_DECL std::string scale_places::text(state_suffix const& suffix) {
    if (places_.empty())
        for (statement const& statement : code_.statements())
            note(statement);
    auto const match = places_.find(suffix.suffix);
    return match == places_.end() ? std::string()
                                  : " in the statement at " + place_text(code_, match->second);
}

RESHARD_DECL void scale_places::note(statement const& statement) {
    try {
        if (auto const added = scale_suffix_of(code_.attributes(statement)))
            places_.emplace(added->suffix, statement.where);
    } catch (statement_error const&) {
        return;
    }
}

/// A message if no tensor of the source has scales with this suffix; empty otherwise.
inline std::string unmatched_ending(std::string_view ending, catalog const& source) {
    for (catalog_entry const& entry : source)
        if (entry.key.size() > ending.size() && entry.key.ends_with(ending)) {
            std::string const before = entry.key.substr(0, entry.key.size() - ending.size());
            if (source.find(before))
                return {};
        }
    std::string const text = words("no tensor of the source has scales that end in '", ending, "'");
    auto const match = std::ranges::find_if(
        source, [&](catalog_entry const& entry) { return entry.key.ends_with(ending); });
    if (match == source.end())
        return text;
    std::string const names = pattern_of_scales(match->key, source);
    return text + words(": '", match->key, "' has that ending, but '",
                        match->key.substr(0, match->key.size() - ending.size()),
                        "' is missing; name both, as in scales=\"",
                        names.empty() ? words("*.weight => *", ending) : names, '"');
}

/// A message if no tensor of the source has scales by this pattern; empty otherwise.
inline std::string unmatched_pattern(scale_pattern const& pattern, catalog const& source) {
    bool has_tensor = false;
    for (catalog_entry const& entry : source)
        if (auto const key = pattern.scales_of(entry.key)) {
            if (source.find(*key))
                return {};
            has_tensor = true;
        }
    return has_tensor ? words("no tensor '", pattern.tensor.with("*"),
                              "' of the source has scales '", pattern.scales.with("*"), "'")
                      : words("no tensor of the source is called '", pattern.tensor.with("*"), "'");
}

RESHARD_DECL void scale_places::check_matched(vector<attribute> const& list,
                                              catalog const& source) {
    attribute const* const by = find_attribute(list, "scales");
    auto const* const text = by ? std::get_if<std::string>(&by->value) : nullptr;
    if (!text || !matched_.insert(*text).second)
        return;
    vector<std::string> faults;
    for (scale_pattern const& pattern : scale_patterns(list))
        if (!pattern.is_optional)
            faults.push_back(unmatched_pattern(pattern, source));
    if (!has_patterns(by) && !text->ends_with('?'))
        faults.push_back(unmatched_ending(*text, source));
    auto const fault = std::ranges::find_if_not(faults, &std::string::empty);
    if (fault != faults.end())
        throw statement_error{errc::unknown_key,
                              *fault + "; append ? to it if the source need not have any",
                              by->where};
}

RESHARD_DECL void check_scales(vector<attribute> const& list, vector<state_suffix> const& suffixes,
                               scale_places& places) {
    auto const said = scale_suffix_of(list);
    if (!said)
        return static_cast<void>(scale_patterns(list)); // checks the patterns
    auto const match = std::ranges::find(suffixes, said->suffix, &state_suffix::suffix);
    if (match == suffixes.end())
        throw statement_error{errc::limit_exceeded,
                              words("a program can have at most ", max_scale_endings,
                                    " scale suffixes; '", said->suffix, "' is one too many"),
                              find_attribute(list, "scales")->where};
    if (*match != *said)
        throw statement_error{
            errc::syntax,
            words("keys that end in '", said->suffix, "' are already ",
                  match->block.empty()
                      ? "optimizer state"
                      : "scales of blocks of " + to_string(match->block) + places.text(*match)),
            find_attribute(list, "scales")->where};
}

} // namespace reshard::aoa::detail

#endif
