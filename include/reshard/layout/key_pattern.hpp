// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_KEY_PATTERN_HPP
#define RESHARD_LAYOUT_KEY_PATTERN_HPP

#include <reshard/core/vector.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Patterns that match keys: `model.layers.*.weight`, `model.**`.

namespace reshard {

/// A pattern for keys: `*` matches one or more characters except dots, `**` matches any text
/// including the empty text, and every other character matches itself. A `?` at the end is not part
/// of the pattern; it means that no key needs to match.
class key_pattern {
public:
    explicit key_pattern(std::string_view text);

    /// The pattern without the `?` at the end.
    std::string const& text() const { return text_; }

    /// True if the pattern ends with `?`: no key needs to match.
    bool is_optional() const { return is_optional_; }

    /// True if the whole key matches. In the worst case, the time is proportional to the product of
    /// the two lengths.
    bool matches(std::string_view key) const;

private:
    enum class kind {
        itself,   ///< one character
        segment,  ///< the first character of `*`
        more,     ///< further characters of `*`
        anything, ///< `**`
    };
    struct step {
        kind type;
        char character;
    };

    static bool repeats(step const& current_step) {
        return current_step.type == kind::more || current_step.type == kind::anything;
    }

    static bool takes(step const& current_step, char character);

    /// If a reached step may match the empty text, also marks the next step as reached.
    void skip(vector<bool>& reached) const;

    std::string text_;
    vector<step> steps_;
    bool is_optional_;
};

namespace detail {

/// A pattern from a user. It must match at least one key unless it ends with `?`; otherwise it is
/// an error. doc/errors.md lists all options with such patterns.
class given_pattern {
public:
    explicit given_pattern(std::string_view text) : pattern_(text) {}
    explicit given_pattern(key_pattern pattern) : pattern_(std::move(pattern)) {}

    /// The pattern without the `?` at the end.
    std::string const& text() const { return pattern_.text(); }

    /// True if the whole key matches. Records the match.
    bool matches(std::string_view key) {
        bool const is_match = pattern_.matches(key);
        has_matched_ = has_matched_ || is_match;
        return is_match;
    }

    /// True if no key has matched so far although one must.
    bool is_missed() const { return !has_matched_ && !pattern_.is_optional(); }

private:
    key_pattern pattern_;
    bool has_matched_ = false;
};

/// True if any pattern matches. Each pattern that matches records it.
inline bool match_any(vector<given_pattern>& patterns, std::string_view key) {
    bool is_match = false;
    for (given_pattern& pattern : patterns)
        is_match = pattern.matches(key) || is_match;
    return is_match;
}

/// The first pattern that must match but did not, or null.
inline given_pattern const* first_missed(std::span<given_pattern const> patterns) {
    for (given_pattern const& pattern : patterns)
        if (pattern.is_missed())
            return &pattern;
    return nullptr;
}

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/key_pattern.ipp>
#endif

#endif
