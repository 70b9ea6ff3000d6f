// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_SCALE_SUFFIX_HPP
#define RESHARD_AOA_SCALE_SUFFIX_HPP

#include <reshard/aoa/list_text.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/aoa/state_suffix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// `scales="_scale_inv", blocks="[128, 128]"`: which keys are the scales of a block-scaled tensor.

namespace reshard::aoa {

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
        throw statement_error{
            errc::syntax, why + ", as in scales=\"_scale_inv\", blocks=\"[128, 128]\"", one.where};
    };
    for (attribute const& one : list)
        if ((one.word == "scales" && &one != scales) || (one.word == "blocks" && &one != blocks))
            throw statement_error{errc::syntax, "'" + one.word + "' stands twice", one.where};
    if (!scales || !blocks)
        refuse(scales ? *scales : *blocks, "'scales' and 'blocks' stand together");
    auto const* const ending = std::get_if<std::string>(&scales->value);
    if (!ending || ending->empty())
        refuse(*scales, "'scales' is the end of a key");
    if (!std::holds_alternative<std::string>(blocks->value))
        refuse(*blocks, "'blocks' is a list in quotes");
    std::vector<index_t> const extents = parse_list(*blocks);
    if (extents.empty() || extents.size() > max_ndim ||
        std::ranges::any_of(extents, [](index_t extent) { return extent < 1; }))
        refuse(*blocks, "'blocks' has a positive extent for each axis");
    return state_suffix{*ending, false, index_vector(extents.begin(), extents.end())};
}

/// How many endings the statements of a program may add: each key is compared with all of them.
inline constexpr std::size_t max_scale_endings = 64;

/// The endings with those that a program's statements add, each once, and no more than there may be.
/// What is wrong with an attribute is said when its statement runs.
inline std::vector<state_suffix> with_scales(std::vector<state_suffix> suffixes,
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

/// The statements of a program that say first what the keys of an ending are scales of.
class scale_places {
public:
    explicit scale_places(program const& code) : code_(code) {}

    /// ` in the statement at model.aoa:1:1`, or nothing for an ending that no statement adds.
    ///
    /// The first question goes through the whole program.
    std::string text(state_suffix const& known) {
        if (places_.empty())
            for (statement const& one : code_.statements())
                note(one);
        auto const found = places_.find(known.suffix);
        return found == places_.end() ? std::string()
                                      : " in the statement at " + place_text(code_, found->second);
    }

private:
    void note(statement const& one) {
        try {
            if (auto const added = scale_suffix_of(code_.attributes(one)))
                places_.emplace(added->suffix, one.where);
        } catch (statement_error const&) {
            return;
        }
    }

    program const& code_;
    std::map<std::string, text_span> places_;
};

/// Refuses attributes of scales that cannot be, or contradict those of another statement.
///
/// \pre    `suffixes` are `with_scales` of the program that the attributes stand in
/// \throws statement_error with errc::syntax, or errc::limit_exceeded for more than
///         `max_scale_endings`
inline void check_scales(std::vector<attribute> const& list,
                         std::vector<state_suffix> const& suffixes, scale_places& places) {
    auto const said = scale_suffix_of(list);
    if (!said)
        return;
    auto const known = std::ranges::find(suffixes, said->suffix, &state_suffix::suffix);
    if (known == suffixes.end())
        throw statement_error{errc::limit_exceeded,
                              "a program has at most " + std::to_string(max_scale_endings) +
                                  " endings of scales, and '" + said->suffix + "' is one more",
                              find_attribute(list, "scales")->where};
    if (*known != *said)
        throw statement_error{
            errc::syntax,
            "keys that end in '" + said->suffix + "' are " +
                (known->block.empty()
                     ? "optimizer state"
                     : "scales of blocks of " + to_string(known->block) + places.text(*known)),
            find_attribute(list, "scales")->where};
}

} // namespace reshard::aoa

#endif
