// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_KEY_PATTERN_IPP
#define RESHARD_LAYOUT_IMPL_KEY_PATTERN_IPP

#include <reshard/layout/key_pattern.hpp>

#include <reshard/core/config.hpp>

#include <cstddef>
#include <utility>

namespace reshard {

RESHARD_DECL key_pattern::key_pattern(std::string_view text)
    : text_(text), is_optional_(text.ends_with('?')) {
    if (is_optional_)
        text_.pop_back();
    text = text_;
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

RESHARD_DECL bool key_pattern::matches(std::string_view key) const {
    vector<bool> reached(steps_.size() + 1);
    reached[0] = true;
    skip(reached);
    for (char const character : key) {
        vector<bool> next(reached.size());
        for (std::size_t i = 0; i < steps_.size(); ++i)
            if (reached[i] && takes(steps_[i], character))
                next[repeats(steps_[i]) ? i : i + 1] = true;
        skip(next);
        reached = std::move(next);
    }
    return reached.back();
}

RESHARD_DECL bool key_pattern::takes(step const& current_step, char character) {
    switch (current_step.type) {
    case kind::itself: return character == current_step.character;
    case kind::anything: return true;
    default: return character != '.';
    }
}

RESHARD_DECL void key_pattern::skip(vector<bool>& reached) const {
    for (std::size_t i = 0; i < steps_.size(); ++i)
        if (reached[i] && repeats(steps_[i]))
            reached[i + 1] = true;
}

} // namespace reshard

#endif
