// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_PATTERN_INDEX_HPP
#define RESHARD_AOA_MACRO_PATTERN_INDEX_HPP

#include <reshard/aoa/budget.hpp>
#include <reshard/aoa/macro/pattern_buckets.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/layout/catalog.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Which keys match names with numbers left open: one pass over the keys for all names.

namespace reshard::aoa {

/// A key that a pattern matches.
struct key_match {
    std::span<index_t const> numbers; ///< by capture
    std::string_view key;             ///< without the ending of a parameter's state
};

/// Whether two matches of one pattern have the same numbers.
inline bool same_numbers(key_match const& a, key_match const& b) {
    return std::ranges::equal(a.numbers, b.numbers);
}

namespace detail {

/// The matches of one pattern.
class match_list {
public:
    explicit match_list(std::size_t captures) : captures_(captures) {}

    bool empty() const { return keys_.empty(); }

    void add(std::span<index_t const> numbers, std::string_view key) {
        numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
        keys_.push_back(key);
    }

    /// By ascending numbers, each key once; until the next `add`.
    std::vector<key_match> const& sorted() {
        if (sorted_from_ != keys_.size())
            sort();
        return sorted_;
    }

private:
    static bool precedes(key_match const& a, key_match const& b) {
        auto const order = std::lexicographical_compare_three_way(
            a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end());
        return order != 0 ? order < 0 : a.key < b.key;
    }

    /// A match by its number, and two of its numbers, which mostly say all of the order.
    struct ranked_match {
        std::array<index_t, 2> first;
        std::size_t match;
    };

    key_match at(std::size_t i) const {
        return {{numbers_.data() + i * captures_, captures_}, keys_[i]};
    }

    std::vector<ranked_match> ranked() const {
        std::vector<ranked_match> matches;
        matches.reserve(keys_.size());
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            matches.push_back({{0, 0}, i});
            std::copy_n(numbers_.data() + i * captures_, std::min<std::size_t>(captures_, 2),
                        matches.back().first.begin());
        }
        std::ranges::sort(matches, [this](ranked_match const& a, ranked_match const& b) {
            if (a.first[0] != b.first[0])
                return a.first[0] < b.first[0];
            if (a.first[1] != b.first[1])
                return a.first[1] < b.first[1];
            return precedes(at(a.match), at(b.match));
        });
        return matches;
    }

    void sort() {
        sorted_.clear();
        sorted_.reserve(keys_.size());
        for (ranked_match const& one : ranked())
            sorted_.push_back(at(one.match));
        auto const is_same = [](key_match const& a, key_match const& b) {
            return a.key == b.key && same_numbers(a, b);
        };
        sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), is_same), sorted_.end());
        sorted_from_ = keys_.size();
    }

    std::size_t captures_;
    std::vector<index_t> numbers_; ///< those of one match after the other
    std::vector<std::string_view> keys_;
    std::vector<key_match> sorted_;
    std::size_t sorted_from_ = 0; ///< how many keys
};

} // namespace detail

/// The matches of many patterns among the parameter keys of a catalog and, for those that have none
/// there, among names that statements make.
///
/// A key is compared only with patterns that have its outline and all of its numbers that are not
/// open, so a pass over the keys costs the length of the keys and not that times the number of
/// patterns.
class pattern_index {
public:
    /// Adds a pattern; the result is its number.
    std::size_t add(key_pattern pattern) {
        buckets_.add(pattern, patterns_.size());
        patterns_.push_back(std::move(pattern));
        return patterns_.size() - 1;
    }

    bool empty() const { return patterns_.empty(); }

    /// Calls `visit` with the number of each pattern that matches `key`, and with the numbers found,
    /// until it returns false.
    ///
    /// \throws error with errc::limit_exceeded when that takes more steps than `search` was given
    template <class Visit>
    void for_each_match(std::string_view key, Visit const& visit) {
        buckets_.for_each_form(key, [&](std::span<std::size_t const> candidates) {
            take_steps(std::max<std::size_t>(1, candidates.size()));
            for (std::size_t const candidate : candidates) {
                found_.resize(patterns_[candidate].captures);
                if (detail::match(patterns_[candidate], key, found_) &&
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
    void search(catalog const& keys, std::vector<state_suffix> const& suffixes, budget& steps) {
        steps_ = &steps;
        matches_.clear();
        for (key_pattern const& pattern : patterns_)
            matches_.emplace_back(pattern.captures);
        auto const add = [&](std::string_view key) {
            for_each_match(key, [&](std::size_t pattern, std::span<index_t const> numbers) {
                matches_[pattern].add(numbers, key);
                return true;
            });
        };
        for (catalog_entry const& entry : keys)
            for_each_parameter_name(keys, entry, suffixes, add);
        open_.clear();
        for (detail::match_list const& list : matches_)
            open_.push_back(list.empty());
        has_open_ = std::ranges::find(open_, true) != open_.end();
    }

    /// Whether some pattern matches no key.
    ///
    /// \pre `search` has been called
    bool has_open() const { return has_open_; }

    /// Says that a statement makes `name`, which is a match of the patterns that match no key.
    ///
    /// \pre `search` has been called since the last pattern was added
    void add_made(std::string_view name) {
        take_steps(1);
        for_each_match(name, [&](std::size_t pattern, std::span<index_t const> numbers) {
            if (open_[pattern])
                matches_[pattern].add(numbers, made_.emplace_back(name));
            return true;
        });
    }

    /// The matches of a pattern by ascending numbers, each key once; they last until the next
    /// `add_made`.
    ///
    /// \pre `search` has been called since the pattern was added
    std::vector<key_match> const& matches(std::size_t pattern) {
        return matches_[pattern].sorted();
    }

private:
    void take_steps(std::size_t amount) const {
        if (steps_ && !steps_->take(amount))
            fail(errc::limit_exceeded, steps_->refusal());
    }

    std::vector<key_pattern> patterns_;
    detail::pattern_buckets buckets_;
    std::vector<detail::match_list> matches_; ///< by pattern
    std::vector<bool> open_;                  ///< the patterns that match no key
    std::vector<index_t> found_;              ///< the numbers of the match that is looked at
    budget* steps_ = nullptr;                 ///< null before the first search: there is no limit
    bool has_open_ = false;
    std::deque<std::string> made_; ///< the names that are matches; each stays where it is
};

} // namespace reshard::aoa

#endif
