// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_STATE_NEED_IPP
#define RESHARD_LAYOUT_IMPL_STATE_NEED_IPP

#include <reshard/layout/state_need.hpp>

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/layout/key_pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace reshard::detail {

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
