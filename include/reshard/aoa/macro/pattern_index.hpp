// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_PATTERN_INDEX_HPP
#define RESHARD_AOA_MACRO_PATTERN_INDEX_HPP

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/catalog.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

/// \file
/// Which keys match names with open numbers: one pass over the keys for all names.

namespace reshard::aoa::detail {

/// Calls `visit` with each name that a statement may call a tensor by: a parameter by its key,
/// state by its parameter's. A key that only ends like state has both, its own last, and so does
/// state that is found by its convention. Names last as long as the keys.
void for_each_parameter_name(catalog const& keys, catalog_entry const& entry,
                             vector<state_suffix> const& suffixes, auto const& visit) {
    bool is_stated = false;
    any_parameter(entry.key, suffixes, [&](std::string_view parameter, state_suffix const& state) {
        bool const exists = keys.find(parameter) != nullptr;
        bool const is_meant = exists || state.container.empty();
        if (is_meant && state.container.empty()) // else the parameter's own key says its name
            visit(parameter);
        is_stated = is_meant && exists && !state.is_found;
        return is_meant;
    });
    if (!is_stated)
        visit(std::string_view(entry.key));
}

/// A key taken apart into its outline and the runs of digits that the outline omits.
struct outlined_key {
    std::string outline;
    vector<std::string_view> runs;

    void assign(std::string_view key);

    /// The runs that are fixed in a form, in a row.
    void append_fixed(std::string& fixed, std::string_view form) const;
};

/// Patterns by the common parts of all keys that they match: the outline, and the runs of digits in
/// which no number is open.
///
/// Which runs those are is the form of a pattern: a `0` for each run that is fixed, a `*` for one
/// that is open.
class pattern_buckets {
public:
    /// Adds pattern number `id`.
    void add(key_pattern const& pattern, std::size_t id);

    /// Calls `visit(patterns)`, with the numbers of those that may match `key`, once for each form
    /// of patterns that have its outline, until it returns false; there may be none.
    void for_each_form(std::string_view key, auto const& visit) {
        key_.assign(key);
        auto const outline = outlines_.find(key_.outline);
        if (!outline)
            return;
        forms_of_outline const& forms = forms_[*outline];
        for (std::uint32_t i = 0; i < forms.buckets.size(); ++i)
            if (!visit(forms.buckets[i].find(fixed_in(forms.names[i]))))
                return;
    }

private:
    /// The patterns of one form by their fixed runs.
    struct bucket {
        name_table fixed;
        vector<vector<std::size_t>> patterns;

        void add(std::string_view fixed_runs, std::size_t id);

        std::span<std::size_t const> find(std::string_view fixed_runs) const;
    };

    struct forms_of_outline {
        name_table names; ///< the forms themselves
        vector<bucket> buckets;
    };

    /// Takes a key that the pattern matches apart; the result is the pattern's form.
    std::string take_apart(key_pattern const& pattern);

    std::string const& fixed_in(std::string_view form);

    name_table outlines_;
    vector<forms_of_outline> forms_; ///< by outline
    outlined_key key_;               ///< that is looked at
    std::string fixed_, sample_;
};

/// A key that a pattern matches.
struct key_match {
    std::span<index_t const> numbers; ///< by capture
    std::string_view key;             ///< without the ending of a parameter's state
};

/// Whether two matches of one pattern have the same numbers.
inline bool same_numbers(key_match const& a, key_match const& b) {
    return std::ranges::equal(a.numbers, b.numbers);
}

/// The matches of one pattern.
class match_list {
public:
    explicit match_list(std::size_t captures) : captures_(captures) {}

    bool empty() const { return keys_.empty(); }

    void add(std::span<index_t const> numbers, std::string_view key);

    /// By ascending numbers, each key once; until the next `add`.
    vector<key_match> const& sorted();

private:
    static bool precedes(key_match const& a, key_match const& b);

    /// A match by its number, and two of its numbers, which mostly say all of the order.
    struct ranked_match {
        std::array<index_t, 2> first;
        std::size_t match;
    };

    key_match at(std::size_t i) const {
        return {{numbers_.data() + i * captures_, captures_}, keys_[i]};
    }

    vector<ranked_match> ranked() const;

    void sort();

    std::size_t captures_;
    vector<index_t> numbers_; ///< match after match
    vector<std::string_view> keys_;
    vector<key_match> sorted_;
    std::size_t sorted_from_ = 0; ///< how many keys
};

/// The matches of many patterns among the parameter keys of a catalog and, for those that have none
/// there, among names that statements make.
///
/// A key is compared only with patterns that have its outline and all of its numbers that are not
/// open, so a pass over the keys costs the length of the keys and not that times the number of
/// patterns.
class pattern_index {
public:
    /// Adds a pattern; the result is its number.
    std::size_t add(key_pattern pattern);

    bool empty() const { return patterns_.empty(); }

    /// Calls `visit` with the number of each pattern that matches `key`, and with the numbers
    /// found, until it returns false.
    ///
    /// \throws error with errc::limit_exceeded when that takes more steps than `search` was given
    void for_each_match(std::string_view key, auto const& visit) {
        buckets_.for_each_form(key, [&](std::span<std::size_t const> candidates) {
            take_steps(std::max<std::size_t>(1, candidates.size()));
            for (std::size_t const candidate : candidates) {
                found_.resize(patterns_[candidate].captures);
                if (match(patterns_[candidate], key, found_) &&
                    !visit(candidate, std::span<index_t const>(found_)))
                    return false;
            }
            return true;
        });
    }

    /// Finds the matches of all patterns. The catalog and the budget, of which each comparison of a
    /// key takes a step, must outlive them.
    ///
    /// \throws error with errc::limit_exceeded when that takes more steps than are left
    void search(catalog const& keys, vector<state_suffix> const& suffixes, budget& steps);

    /// Whether some pattern matches no key.
    ///
    /// \pre `search` has been called
    bool has_open() const { return has_open_; }

    /// Says that a statement makes `name`, which is a match of the patterns that match no key.
    ///
    /// \pre `search` has been called since the last pattern was added
    void add_made(std::string_view name);

    /// The matches of a pattern by ascending numbers, each key once; they last until the next
    /// `add_made`.
    ///
    /// \pre `search` has been called since the pattern was added
    vector<key_match> const& matches(std::size_t pattern) { return matches_[pattern].sorted(); }

private:
    void take_steps(std::size_t amount) const;

    vector<key_pattern> patterns_;
    pattern_buckets buckets_;
    vector<match_list> matches_; ///< by pattern
    vector<bool> open_;          ///< the patterns that match no key
    vector<index_t> found_;      ///< the numbers of the match that is looked at
    budget* steps_ = nullptr;    ///< null before the first search: no limit
    bool has_open_ = false;
    std::deque<std::string> made_; ///< the names that are matches; their addresses do not change
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/pattern_index.ipp>
#endif

#endif
