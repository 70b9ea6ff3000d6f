// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_STRICTNESS_IPP
#define RESHARD_LAYOUT_IMPL_STRICTNESS_IPP

#include <reshard/layout/strictness.hpp>

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/sorting.hpp>

#include <algorithm>
#include <iterator>

namespace reshard::detail {

RESHARD_DECL strictness strictness_from_name(std::string_view text) {
    auto const& names = strictness_names;
    auto const match = std::find(std::begin(names), std::end(names), text);
    if (match != std::end(names))
        return static_cast<strictness>(match - std::begin(names));
    std::string known_names;
    for (std::string_view const each_name : names)
        known_names += (known_names.empty() ? "" : ", ") + std::string(each_name);
    fail(errc::usage, "unknown strictness '", text, "'", did_you_mean(text, names),
         "; choose one of ", known_names);
}

RESHARD_DECL key_mismatch compare_keys(vector<std::string> wanted, vector<std::string> available) {
    for (auto* const keys : {&wanted, &available}) {
        detail::sort_by(*keys, std::less<>());
        keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
    }
    key_mismatch result;
    std::set_difference(wanted.begin(), wanted.end(), available.begin(), available.end(),
                        std::back_inserter(result.unexpected));
    std::set_difference(available.begin(), available.end(), wanted.begin(), wanted.end(),
                        std::back_inserter(result.missing));
    return result;
}

RESHARD_DECL strict_verdict judge(strictness mode, key_mismatch const& mismatch) {
    key_mismatch const unexpected{mismatch.unexpected, {}};
    switch (mode) {
    case strictness::assume_ok_unexpected: return {};
    case strictness::log_unexpected: return {unexpected, {}, {}, mismatch.unexpected};
    case strictness::log_all: return {mismatch, {}, {}, mismatch.unexpected};
    case strictness::raise_unexpected: return {{}, unexpected, {}, {}};
    case strictness::raise_all: return {{}, mismatch, {}, {}};
    case strictness::return_unexpected: return {{}, {}, unexpected, mismatch.unexpected};
    case strictness::return_all: return {{}, {}, mismatch, mismatch.unexpected};
    case strictness::ignore_all: return {{}, {}, {}, mismatch.unexpected};
    }
    return {};
}

/// A message such as `2 keys are wanted but not available: 'a', 'b'`; empty without keys.
inline std::string mismatch_part(vector<std::string> const& keys, std::string_view noun) {
    constexpr std::size_t most = 4;
    if (keys.empty())
        return {};
    std::string text = std::to_string(keys.size()) +
                       (keys.size() == 1 ? " key is " : " keys are ") + std::string(noun) + ": ";
    for (std::size_t i = 0; i < std::min(keys.size(), most); ++i)
        text += (i > 0 ? ", '" : "'") + keys[i] + "'";
    return keys.size() > most ? text + " and " + std::to_string(keys.size() - most) + " more"
                              : text;
}

RESHARD_DECL std::string describe(key_mismatch const& keys) {
    std::string const first = mismatch_part(keys.unexpected, "wanted but not available");
    std::string const second = mismatch_part(keys.missing, "available but not wanted");
    return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

RESHARD_DECL void raise(strict_verdict const& verdict) {
    if (!verdict.raise.empty())
        fail(errc::unknown_key, describe(verdict.raise));
}

} // namespace reshard::detail

#endif
