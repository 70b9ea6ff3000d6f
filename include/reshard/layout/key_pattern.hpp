// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_KEY_PATTERN_HPP
#define RESHARD_LAYOUT_KEY_PATTERN_HPP

#include <string>
#include <string_view>
#include <vector>

/// \file
/// Patterns that keys match: `model.layers.*.weight`, `model.**`.

namespace reshard {

/// A pattern of keys: `*` stands for one or more characters other than a dot, `**` for anything,
/// also nothing; every other character for itself.
class key_pattern {
public:
    explicit key_pattern(std::string_view text);

    std::string const& text() const { return text_; }

    /// True where the whole key matches. Takes time in proportion to key times pattern, whatever
    /// they are.
    bool matches(std::string_view key) const;

private:
    enum class kind {
        itself,   ///< one character
        segment,  ///< the first character of `*`
        more,     ///< the others
        anything, ///< `**`
    };
    struct step {
        kind what;
        char character;
    };

    static bool repeats(step const& one) {
        return one.what == kind::more || one.what == kind::anything;
    }

    static bool takes(step const& one, char character);

    /// Where nothing need be taken, the step behind is reached too.
    void skip(std::vector<bool>& reached) const;

    std::string text_;
    std::vector<step> steps_;
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/key_pattern.ipp>
#endif

#endif
