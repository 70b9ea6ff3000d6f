// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_KEY_PATTERN_HPP
#define RESHARD_LAYOUT_KEY_PATTERN_HPP

#include <reshard/core/vector.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Patterns that keys match: `model.layers.*.weight`, `model.**`.

namespace reshard {

/// A pattern of keys: `*` matches one or more characters other than a dot, `**` matches any text,
/// even an empty one; every other character matches itself. `?` at the end is not part of the
/// pattern: it means that no key needs to match.
class key_pattern {
public:
    explicit key_pattern(std::string_view text);

    /// The pattern without `?` at the end.
    std::string const& text() const { return text_; }

    /// Whether `?` at the end says that no key needs to match.
    bool is_optional() const { return is_optional_; }

    /// True if the whole key matches. At worst, takes time in proportion to the product of both
    /// lengths.
    bool matches(std::string_view key) const;

private:
    enum class kind {
        itself,   ///< one character
        segment,  ///< the other characters of `*`
        more,     ///< the further characters of `*`
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

    /// If a step may match nothing, marks the next step as reached, too.
    void skip(vector<bool>& reached) const;

    std::string text_;
    vector<step> steps_;
    bool is_optional_;
};

namespace detail {

/// A pattern that a user gave. The user means some key by it: if no key matches, and the pattern
/// does not end with `?`, that is an error. doc/errors.md lists all options that take such
/// patterns.
class given_pattern {
public:
    explicit given_pattern(std::string_view text) : pattern_(text) {}
    explicit given_pattern(key_pattern pattern) : pattern_(std::move(pattern)) {}

    /// The pattern without `?` at the end.
    std::string const& text() const { return pattern_.text(); }

    /// Whether the whole key matches; records a match.
    bool matches(std::string_view key) {
        bool const is_match = pattern_.matches(key);
        has_matched_ = has_matched_ || is_match;
        return is_match;
    }

    /// Whether it is an error that no key has matched so far.
    bool is_missed() const { return !has_matched_ && !pattern_.is_optional(); }

private:
    key_pattern pattern_;
    bool has_matched_ = false;
};

/// Whether any pattern matches; records each that does.
inline bool match_any(vector<given_pattern>& patterns, std::string_view key) {
    bool is_match = false;
    for (given_pattern& pattern : patterns)
        is_match = pattern.matches(key) || is_match;
    return is_match;
}

/// The first pattern that had to match and did not, or null.
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
