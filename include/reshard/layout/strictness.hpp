// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_STRICTNESS_HPP
#define RESHARD_LAYOUT_STRICTNESS_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/nearest.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What is done about keys that only one side has.

namespace reshard {

/// What a load does about *unexpected* keys, which are wanted and not there, and *missing* ones,
/// which are there and not wanted.
///
/// \par Source the eight modes of Megatron-Core's `StrictHandling`, with its two words for the two
///             sides
enum class strictness {
    assume_ok_unexpected, ///< nothing is compared; the load itself refuses what it cannot find
    log_unexpected,       ///< unexpected keys are left out, and somebody is told of them
    log_all,              ///< somebody is told of missing keys too
    raise_unexpected,     ///< unexpected keys are an error
    raise_all,            ///< missing ones too
    return_unexpected,    ///< unexpected keys are left out, and the caller is given them
    return_all,           ///< the caller is given missing keys too
    ignore_all,           ///< unexpected keys are left out, and nobody is told
};

namespace detail {

inline constexpr std::string_view strictness_names[] = {
    "assume_ok_unexpected", "log_unexpected", "log_all",    "raise_unexpected", "raise_all",
    "return_unexpected",    "return_all",     "ignore_all",
};

} // namespace detail

/// The name of a mode, as in `log_all`.
constexpr std::string_view name(strictness mode) {
    return detail::strictness_names[static_cast<std::size_t>(mode)];
}

/// The mode of that name.
///
/// \throws error with errc::usage where there is none; it has all names
inline strictness strictness_from_name(std::string_view text) {
    auto const& names = detail::strictness_names;
    auto const found = std::ranges::find(names, text);
    if (found != std::end(names))
        return static_cast<strictness>(found - std::begin(names));
    std::string known;
    for (std::string_view const each_name : names)
        known += (known.empty() ? "" : ", ") + std::string(each_name);
    fail(errc::usage, "there is no strictness '" + std::string(text) + "'" +
                          did_you_mean(text, names) + "; there are " + known);
}

/// Keys that only one side has, sorted.
struct key_mismatch {
    std::vector<std::string> unexpected = {}; ///< wanted and not there
    std::vector<std::string> missing = {};    ///< there and not wanted

    bool empty() const { return unexpected.empty() && missing.empty(); }
    bool operator==(key_mismatch const&) const = default;
};

/// Compares keys in any order; a key that stands twice counts once.
inline key_mismatch compare_keys(std::vector<std::string> wanted,
                                 std::vector<std::string> available) {
    for (auto* const keys : {&wanted, &available}) {
        std::ranges::sort(*keys);
        keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
    }
    key_mismatch result;
    std::ranges::set_difference(wanted, available, std::back_inserter(result.unexpected));
    std::ranges::set_difference(available, wanted, std::back_inserter(result.missing));
    return result;
}

/// What a mode makes of a mismatch.
struct strict_verdict {
    key_mismatch log;                       ///< somebody should be told
    key_mismatch raise;                     ///< the load must not go on
    key_mismatch give_back;                 ///< the caller wants to know
    std::vector<std::string> left_out = {}; ///< unexpected keys that the load leaves as they are

    bool operator==(strict_verdict const&) const = default;
};

/// What is to be done about a mismatch.
inline strict_verdict judge(strictness mode, key_mismatch const& found) {
    key_mismatch const unexpected{found.unexpected, {}};
    switch (mode) {
    case strictness::assume_ok_unexpected: return {};
    case strictness::log_unexpected: return {unexpected, {}, {}, found.unexpected};
    case strictness::log_all: return {found, {}, {}, found.unexpected};
    case strictness::raise_unexpected: return {{}, unexpected, {}, {}};
    case strictness::raise_all: return {{}, found, {}, {}};
    case strictness::return_unexpected: return {{}, {}, unexpected, found.unexpected};
    case strictness::return_all: return {{}, {}, found, found.unexpected};
    case strictness::ignore_all: return {{}, {}, {}, found.unexpected};
    }
    return {};
}

namespace detail {

/// `2 keys are wanted and not there: 'a', 'b'`, or nothing.
inline std::string mismatch_part(std::vector<std::string> const& keys, std::string_view what) {
    constexpr std::size_t most = 4;
    if (keys.empty())
        return {};
    std::string text = std::to_string(keys.size()) +
                       (keys.size() == 1 ? " key is " : " keys are ") + std::string(what) + ": ";
    for (std::size_t i = 0; i < std::min(keys.size(), most); ++i)
        text += (i > 0 ? ", '" : "'") + keys[i] + "'";
    return keys.size() > most ? text + " and " + std::to_string(keys.size() - most) + " more"
                              : text;
}

} // namespace detail

/// A mismatch for people, with the first keys of each side; nothing where there is none.
inline std::string describe(key_mismatch const& keys) {
    std::string const first = detail::mismatch_part(keys.unexpected, "wanted and not there");
    std::string const second = detail::mismatch_part(keys.missing, "there and not wanted");
    return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

/// Throws what a verdict says is an error.
///
/// \throws error with errc::unknown_key, which names the first keys
inline void raise(strict_verdict const& verdict) {
    if (!verdict.raise.empty())
        fail(errc::unknown_key, describe(verdict.raise));
}

} // namespace reshard

#endif
