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
/// Matches keys with names that have open numbers, in a single pass over the keys for all names.

namespace reshard::aoa::detail {

/// Calls `visit` with each name by which a statement may refer to a tensor. It is the key of a
/// parameter, or the key of a state's parameter. For a key that only ends like a state's, and for a
/// state by convention, it is both; the tensor's own key comes last. The names are valid as long as
/// `keys`.
void for_each_parameter_name(catalog const& keys, catalog_entry const& entry,
                             vector<state_suffix> const& suffixes, auto const& visit) {
    bool is_stated = false;
    any_parameter(entry.key, suffixes, [&](std::string_view parameter, state_suffix const& state) {
        bool const exists = keys.find(parameter) != nullptr;
        bool const is_meant = exists || state.container.empty();
        if (is_meant && state.container.empty()) // else the parameter's entry visits it
            visit(parameter);
        is_stated = is_meant && exists && !state.is_found;
        return is_meant;
    });
    if (!is_stated)
        visit(std::string_view(entry.key));
}

/// A key as its outline and the runs of digits that the outline omits.
struct outlined_key {
    std::string outline;
    vector<std::string_view> runs;

    void assign(std::string_view key);

    /// Appends the runs that are fixed in a form.
    void append_fixed(std::string& fixed, std::string_view form) const;
};

/// Groups patterns by the parts that are common to all matching keys: the outline, and the runs of
/// digits without an open number.
///
/// The form of a pattern says which runs these are: it has a `0` for each fixed run, and a `*` for
/// each run with an open number.
class pattern_buckets {
public:
    /// Adds pattern number `id`.
    void add(key_pattern const& pattern, std::size_t id);

    /// For each form of the patterns with the outline of `key`, calls `visit(patterns)` with the
    /// numbers of the patterns that may match `key`. The list may be empty. Stops if `visit`
    /// returns false.
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
    /// The patterns of one form, by their fixed runs.
    struct bucket {
        name_table fixed;
        vector<vector<std::size_t>> patterns;

        void add(std::string_view fixed_runs, std::size_t id);

        std::span<std::size_t const> find(std::string_view fixed_runs) const;
    };

    struct forms_of_outline {
        name_table names; ///< the forms of the buckets
        vector<bucket> buckets;
    };

    /// Takes a sample key of the pattern apart, and returns the pattern's form.
    std::string take_apart(key_pattern const& pattern);

    std::string const& fixed_in(std::string_view form);

    name_table outlines_;
    vector<forms_of_outline> forms_; ///< by outline
    outlined_key key_;               ///< the current key
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

    /// The matches in ascending order of their numbers, each key once; valid until the next `add`.
    vector<key_match> const& sorted();

private:
    static bool precedes(key_match const& a, key_match const& b);

    /// The index of a match, and two of its numbers, which usually determine the order.
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
    vector<index_t> numbers_; ///< numbers of all matches, one match after the other
    vector<std::string_view> keys_;
    vector<key_match> sorted_;
    std::size_t sorted_from_ = 0; ///< number of keys at the last sort
};

/// The matches of many patterns: parameter keys of a catalog or, for patterns without such a match,
/// names that statements make.
///
/// A key is compared only with patterns that have its outline and its fixed numbers. So the cost of
/// a pass over the keys depends on their length, and not on the number of patterns.
class pattern_index {
public:
    /// Adds a pattern, and returns its number.
    std::size_t add(key_pattern pattern);

    bool empty() const { return patterns_.empty(); }

    /// Calls `visit` with the number of each pattern that matches `key`, and with the numbers in
    /// the key, until `visit` returns false.
    ///
    /// \throws error with errc::limit_exceeded if the budget of `search` is exceeded
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

    /// Finds the matches of all patterns. Each comparison of a key takes a step from the budget.
    ///
    /// \pre the catalog and the budget outlive this object
    /// \throws error with errc::limit_exceeded if the budget is exceeded
    void search(catalog const& keys, vector<state_suffix> const& suffixes, budget& steps);

    /// Whether there are patterns that match no key.
    ///
    /// \pre `search` has been called
    bool has_open() const { return has_open_; }

    /// Records that a statement makes `name`, as a match for the patterns that match no key.
    ///
    /// \pre `search` has been called since the last pattern was added
    void add_made(std::string_view name);

    /// The matches of a pattern in ascending order of their numbers, each key once; valid until the
    /// next `add_made`.
    ///
    /// \pre `search` has been called since the pattern was added
    vector<key_match> const& matches(std::size_t pattern) { return matches_[pattern].sorted(); }

private:
    void take_steps(std::size_t amount) const;

    vector<key_pattern> patterns_;
    pattern_buckets buckets_;
    vector<match_list> matches_; ///< by pattern
    vector<bool> open_;          ///< by pattern: whether it matches no key
    vector<index_t> found_;      ///< numbers of the current match
    budget* steps_ = nullptr;    ///< null before the first search: no limit
    bool has_open_ = false;
    std::deque<std::string> made_; ///< names that are matches; a deque keeps their addresses
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/pattern_index.ipp>
#endif

#endif
