// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_KEY_PATTERN_HPP
#define RESHARD_AOA_MACRO_KEY_PATTERN_HPP

#include <reshard/aoa/budget.hpp>
#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/macro/outline.hpp>
#include <reshard/aoa/name_table.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/shard/catalog.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Names with numbers left open, and which keys they match: one pass over the keys for all of them.

namespace reshard::aoa {

/// A piece of a pattern: a text, then perhaps a number.
struct pattern_piece {
    std::string text;
    bool has_number = false;
    std::optional<std::size_t> capture; ///< which number of a match it is, where it is one
};

/// A name with numbers left open. Two numbers never touch, so that a match is unique.
struct key_pattern {
    std::vector<pattern_piece> pieces;
    std::size_t captures = 0;
};

/// A key that a pattern matches.
struct key_match {
    std::vector<index_t> numbers; ///< by capture
    std::string_view key;         ///< without the ending of a parameter's state

    auto operator<=>(key_match const&) const = default;
};

namespace detail {

/// The outline of all keys that a pattern may match.
inline std::string outline_of(key_pattern const& pattern) {
    std::string outline;
    for (pattern_piece const& piece : pattern.pieces) {
        append_outline(outline, piece.text);
        if (piece.has_number)
            append_outline(outline, "0");
    }
    return outline;
}

/// The numbers of `key`, if the pattern matches all of it. A number has at most 18 digits.
inline std::optional<std::vector<index_t>> match(key_pattern const& pattern, std::string_view key) {
    std::vector<index_t> numbers(pattern.captures);
    std::size_t at = 0;
    for (std::size_t i = 0; i < pattern.pieces.size(); ++i) {
        pattern_piece const& piece = pattern.pieces[i];
        if (!key.substr(at).starts_with(piece.text))
            return std::nullopt;
        at += piece.text.size();
        if (!piece.has_number)
            continue;
        bool const last = i + 1 == pattern.pieces.size();
        std::size_t const fixed = last ? 0 : digits_at(pattern.pieces[i + 1].text, 0);
        std::size_t const run = digits_at(key, at);
        if (run <= fixed || run - fixed > 18)
            return std::nullopt;
        index_t number = 0;
        for (std::size_t const end = at + run - fixed; at < end; ++at)
            number = 10 * number + (key[at] - '0');
        if (piece.capture)
            numbers[*piece.capture] = number;
    }
    return at == key.size() ? std::optional(std::move(numbers)) : std::nullopt;
}

} // namespace detail

/// The matches of many patterns among the parameter keys of a catalog and, for those that have none
/// there, among names that statements make.
///
/// A key is looked up by its outline among those of the patterns, so a pass over the keys costs the
/// length of the keys and not that times the number of patterns.
class pattern_index {
public:
    /// Adds a pattern; the result is its number.
    std::size_t add(key_pattern pattern) {
        std::uint32_t const outline = outlines_.intern(detail::outline_of(pattern));
        by_outline_.resize(outlines_.size());
        by_outline_[outline].push_back(patterns_.size());
        patterns_.push_back(std::move(pattern));
        return patterns_.size() - 1;
    }

    bool empty() const { return patterns_.empty(); }

    /// Calls `visit` with the number of each pattern that matches `key`, and with the numbers found,
    /// until it returns false.
    ///
    /// \throws error with errc::limit_exceeded when that takes more steps than `search` was given
    template <class Visit>
    void for_each_match(std::string_view key, Visit const& visit) const {
        std::string outline;
        outline.reserve(key.size());
        detail::append_outline(outline, key);
        auto const place = outlines_.find(outline);
        if (!place)
            return;
        for (std::size_t const candidate : by_outline_[*place]) {
            take_step();
            auto numbers = detail::match(patterns_[candidate], key);
            if (numbers && !visit(candidate, std::move(*numbers)))
                return;
        }
    }

    /// Finds the matches of all patterns. The catalog and the budget, of which each comparison of a
    /// key takes a step, must outlive them.
    ///
    /// \throws error with errc::limit_exceeded when that takes more steps than are left
    void search(catalog const& keys, std::vector<state_suffix> const& suffixes, budget& steps) {
        steps_ = &steps;
        matches_.assign(patterns_.size(), {});
        auto const add = [&](std::string_view key) {
            for_each_match(key, [&](std::size_t pattern, std::vector<index_t> numbers) {
                matches_[pattern].push_back({std::move(numbers), key});
                return true;
            });
        };
        for (catalog_entry const& entry : keys)
            for_each_parameter_name(keys, entry, suffixes, add);
        open_.clear();
        for (std::vector<key_match>& list : matches_) {
            open_.push_back(list.empty());
            settle(list);
        }
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
        take_step();
        for_each_match(name, [&](std::size_t pattern, std::vector<index_t> numbers) {
            if (open_[pattern])
                matches_[pattern].push_back({std::move(numbers), made_.emplace_back(name)});
            return true;
        });
    }

    /// The matches of a pattern by ascending numbers, each key once; they last until the next
    /// `add_made`.
    ///
    /// \pre `search` has been called since the pattern was added
    std::vector<key_match> const& matches(std::size_t pattern) {
        if (open_[pattern])
            settle(matches_[pattern]);
        return matches_[pattern];
    }

private:
    void take_step() const {
        if (steps_ && !steps_->take(1))
            fail(errc::limit_exceeded, steps_->refusal());
    }

    static void settle(std::vector<key_match>& list) {
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }

    std::vector<key_pattern> patterns_;
    name_table outlines_;
    std::vector<std::vector<std::size_t>> by_outline_;
    std::vector<std::vector<key_match>> matches_;
    std::vector<bool> open_;  ///< the patterns that match no key
    budget* steps_ = nullptr; ///< null before the first search: there is no limit
    bool has_open_ = false;
    std::deque<std::string> made_; ///< the names that are matches; each stays where it is
};

/// The pattern of a name in which the segments of one kind are captured, in the order that
/// `capture_of` says; the other open numbers match, and are forgotten.
///
/// \throws statement_error with errc::bad_macro when only digits stand between two open numbers
template <class CaptureOf>
key_pattern make_key_pattern(std::vector<segment> const& segments, CaptureOf const& capture_of) {
    key_pattern result;
    result.pieces.emplace_back();
    for (segment const& one : segments) {
        pattern_piece& last = result.pieces.back();
        if (one.kind == segment::kind_type::text) {
            last.text += one.text;
            continue;
        }
        if (one.kind == segment::kind_type::array)
            last.text += '_';
        if (result.pieces.size() > 1 && detail::digits_at(last.text, 0) == last.text.size())
            throw statement_error{
                errc::bad_macro, "two open numbers with nothing but digits between them", {}};
        last.has_number = true;
        last.capture = capture_of(one);
        result.captures += last.capture.has_value();
        result.pieces.emplace_back();
    }
    return result;
}

} // namespace reshard::aoa

#endif
