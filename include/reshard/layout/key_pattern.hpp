// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_KEY_PATTERN_HPP
#define RESHARD_LAYOUT_KEY_PATTERN_HPP

#include <string>
#include <string_view>
#include <vector>

/// \file
/// Patterns that keys match: `model.layers.*.weight`, `model.**`.

namespace reshard {

/// A pattern of keys: `*` stands for one or more characters other than a dot, `**` for anything, also
/// nothing; every other character for itself.
class key_pattern {
public:
    explicit key_pattern(std::string_view text) : text_(text) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            bool const is_star = text[i] == '*';
            bool const is_double = is_star && i + 1 < text.size() && text[i + 1] == '*';
            i += is_double;
            steps_.push_back({is_double ? kind::anything
                              : is_star ? kind::segment
                                        : kind::itself,
                              text[i]});
            if (is_star && !is_double)
                steps_.push_back({kind::more, '*'});
        }
    }

    std::string const& text() const { return text_; }

    /// True where the whole key matches. Takes time in proportion to key times pattern, whatever they are.
    bool matches(std::string_view key) const {
        std::vector<bool> reached(steps_.size() + 1);
        reached[0] = true;
        skip(reached);
        for (char const character : key) {
            std::vector<bool> next(reached.size());
            for (std::size_t i = 0; i < steps_.size(); ++i)
                if (reached[i] && takes(steps_[i], character))
                    next[repeats(steps_[i]) ? i : i + 1] = true;
            skip(next);
            reached = std::move(next);
        }
        return reached.back();
    }

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

    static bool takes(step const& one, char character) {
        switch (one.what) {
        case kind::itself: return character == one.character;
        case kind::anything: return true;
        default: return character != '.';
        }
    }

    /// Where nothing need be taken, the step behind is reached too.
    void skip(std::vector<bool>& reached) const {
        for (std::size_t i = 0; i < steps_.size(); ++i)
            if (reached[i] && repeats(steps_[i]))
                reached[i + 1] = true;
    }

    std::string text_;
    std::vector<step> steps_;
};

} // namespace reshard

#endif
