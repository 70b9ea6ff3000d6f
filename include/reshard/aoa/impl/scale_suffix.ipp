// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_SCALE_SUFFIX_IPP
#define RESHARD_AOA_IMPL_SCALE_SUFFIX_IPP

#include <reshard/aoa/scale_suffix.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/list_text.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>

namespace reshard::aoa::detail {

/// The ending that a statement's attributes give to scales, if they do.
///
/// \throws statement_error with errc::syntax where one of the two attributes is missing or stands
///         twice, the ending is empty or the block is none
inline std::optional<state_suffix> scale_suffix_of(std::vector<attribute> const& list) {
    attribute const* const scales = find_attribute(list, "scales");
    attribute const* const blocks = find_attribute(list, "blocks");
    if (!scales && !blocks)
        return std::nullopt;
    auto const refuse = [](attribute const& one, std::string const& why) {
        throw statement_error{errc::syntax,
                              words(why, ", as in scales=\"_scale_inv\", blocks=\"[128, 128]\""),
                              one.where};
    };
    for (attribute const& one : list)
        if ((one.word == "scales" && &one != scales) || (one.word == "blocks" && &one != blocks))
            throw statement_error{errc::syntax, words("'", one.word, "' is given twice"),
                                  one.where};
    if (!scales || !blocks)
        refuse(scales ? *scales : *blocks, "'scales' and 'blocks' must be given together");
    auto const* const ending = std::get_if<std::string>(&scales->value);
    if (!ending || ending->empty())
        refuse(*scales, "'scales' must be a key suffix");
    if (!std::holds_alternative<std::string>(blocks->value))
        refuse(*blocks, "'blocks' must be a quoted list");
    std::vector<index_t> const extents = parse_list(*blocks);
    if (extents.empty() || extents.size() > max_ndim ||
        std::ranges::any_of(extents, [](index_t extent) { return extent < 1; }))
        refuse(*blocks, "'blocks' must have a positive extent for each axis");
    return state_suffix{*ending, false, index_vector(extents.begin(), extents.end())};
}

RESHARD_DECL std::vector<state_suffix> with_scales(std::vector<state_suffix> suffixes,
                                                   program const& code) {
    std::size_t const most = suffixes.size() + max_scale_endings;
    std::uint32_t last = 0; // statements of one macro share a list; list 0 is empty
    for (statement const& one : code.statements()) {
        if (one.attributes == last)
            continue;
        last = one.attributes;
        try {
            auto const added = scale_suffix_of(code.attributes(one));
            if (added && suffixes.size() < most &&
                std::ranges::find(suffixes, added->suffix, &state_suffix::suffix) == suffixes.end())
                suffixes.push_back(*added);
        } catch (statement_error const&) {
            continue;
        }
    }
    return suffixes;
}

RESHARD_DECL std::string scale_places::text(state_suffix const& known) {
    if (places_.empty())
        for (statement const& one : code_.statements())
            note(one);
    auto const found = places_.find(known.suffix);
    return found == places_.end() ? std::string()
                                  : " in the statement at " + place_text(code_, found->second);
}

RESHARD_DECL void scale_places::note(statement const& one) {
    try {
        if (auto const added = scale_suffix_of(code_.attributes(one)))
            places_.emplace(added->suffix, one.where);
    } catch (statement_error const&) {
        return;
    }
}

RESHARD_DECL void check_scales(std::vector<attribute> const& list,
                               std::vector<state_suffix> const& suffixes, scale_places& places) {
    auto const said = scale_suffix_of(list);
    if (!said)
        return;
    auto const known = std::ranges::find(suffixes, said->suffix, &state_suffix::suffix);
    if (known == suffixes.end())
        throw statement_error{errc::limit_exceeded,
                              words("a program has at most ", max_scale_endings,
                                    " scale suffixes, and '", said->suffix, "' is one more"),
                              find_attribute(list, "scales")->where};
    if (*known != *said)
        throw statement_error{
            errc::syntax,
            words("keys that end in '", said->suffix, "' are ",
                  known->block.empty()
                      ? "optimizer state"
                      : "scales of blocks of " + to_string(known->block) + places.text(*known)),
            find_attribute(list, "scales")->where};
}

} // namespace reshard::aoa::detail

#endif
