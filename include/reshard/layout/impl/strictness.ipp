// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_STRICTNESS_IPP
#define RESHARD_LAYOUT_IMPL_STRICTNESS_IPP

#include <reshard/layout/strictness.hpp>

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/layout/key_pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>

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

/// Replaces each `*` in `text` with `by`.
inline std::string with_star(std::string_view text, std::string_view by) {
    std::string result;
    for (char const character : text)
        result += character == '*' ? by : std::string_view(&character, 1);
    return result;
}

inline bool has_star(std::string_view text) { return text.find('*') != text.npos; }

/// Collects missing keys, one need after the other.
class need_search {
public:
    explicit need_search(vector<std::string> const& there) : present_(there.begin(), there.end()) {}

    void add(state_need const& need, vector<std::string> const& known_names) {
        key_pattern const pattern(need.keys);
        vector<key_pattern> companions;
        for (std::string const& element : need.with)
            if (has_star(element))
                companions.emplace_back(with_star(element, "**"));
        auto const is_companion = [&](std::string const& key) {
            return std::any_of(
                companions.begin(), companions.end(),
                [&](key_pattern const& key_pattern) { return key_pattern.matches(key); });
        };
        bool is_met = false;
        for (std::string const& key : known_names)
            if (pattern.matches(key) && !is_companion(key)) {
                is_met = true;
                add_key(key, need);
            }
        if (!is_met && !pattern.is_optional())
            lacking_.emplace(need.keys, has_star(need.keys) ? ", which no key matches" : "");
    }

    void check(std::string_view field) const {
        if (lacking_.empty())
            return;
        std::string text;
        std::size_t left = most_named;
        for (auto const& [key, why] : lacking_)
            if (left > 0)
                text += words(left-- == most_named ? "'" : ", '", key, "'", why, near(key));
        if (lacking_.size() > most_named)
            text += words(" and ", lacking_.size() - most_named, " more");
        fail(errc::unknown_key, field, ": ", lacking_.size(),
             lacking_.size() == 1 ? " needed key is" : " needed keys are", " missing: ", text,
             "; give a tensor for each, or change ", field);
    }

private:
    static constexpr std::size_t most_named = 4;

    void add_key(std::string const& key, state_need const& need) {
        look_for(key, {});
        for (std::string const& element : need.with)
            look_for(with_star(element, key), " beside '" + key + "'");
    }

    void look_for(std::string const& key, std::string why) {
        if (present_.contains(key))
            used_.insert(key);
        else
            lacking_.emplace(key, std::move(why));
    }

    /// Suggests a similar key, but never a key that is itself required.
    std::string near(std::string const& key) const {
        vector<std::string> unused;
        std::ranges::set_difference(present_, used_, std::back_inserter(unused));
        return did_you_mean_key(key, unused);
    }

    std::set<std::string> present_;
    std::set<std::string> used_;
    std::map<std::string, std::string> lacking_; ///< the message for each missing key
};

RESHARD_DECL void check_needs(std::string_view field, vector<state_need> const& needs,
                              vector<std::string> const& known_names,
                              vector<std::string> const& there) {
    if (needs.empty())
        return;
    need_search search(there);
    for (state_need const& need : needs)
        search.add(need, known_names);
    search.check(field);
}

} // namespace reshard::detail

#endif
