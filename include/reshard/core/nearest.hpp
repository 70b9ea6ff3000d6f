// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_NEAREST_HPP
#define RESHARD_CORE_NEAREST_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What somebody may have meant who wrote a name that does not exist.

namespace reshard {

/// The characters that have to be inserted, removed, replaced or exchanged with their neighbour to
/// make `b` of `a`; where they are more than `most`, `most + 1`.
///
/// \par Source the optimal string alignment distance, in the band of `most` around the diagonal
inline std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most) {
    if (a.size() > b.size())
        std::swap(a, b);
    if (b.size() - a.size() > most)
        return most + 1;
    std::vector<std::size_t> before(a.size() + 1, most + 1), last(before), now(before);
    for (std::size_t j = 0; j <= std::min(a.size(), most); ++j)
        last[j] = j;
    for (std::size_t i = 1; i <= b.size(); ++i) {
        std::fill(now.begin(), now.end(), most + 1);
        if (i <= most)
            now[0] = i;
        for (std::size_t j = i > most ? i - most : 1; j <= std::min(a.size(), i + most); ++j) {
            bool const same = a[j - 1] == b[i - 1];
            now[j] = std::min({now[j - 1] + 1, last[j] + 1, last[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && a[j - 1] == b[i - 2] && a[j - 2] == b[i - 1])
                now[j] = std::min(now[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, now);
    }
    return std::min(last[a.size()], most + 1);
}

/// Looks for the text nearest to one that does not exist; one that is too far away is none.
///
/// A quarter of the characters may be wrong, at most 8. Of equally near texts the first one counts.
/// A look costs the length of the text; at most 4096 texts are compared in full.
class nearest_text {
public:
    /// \param same_numbers whether the digits have to be the same: layer 3 is no slip for layer 2
    nearest_text(std::string_view wanted, bool same_numbers)
        : wanted_(wanted),
          same_numbers_(same_numbers),
          limit_(wanted.size() < 3 || wanted.size() > longest
                     ? 0
                     : std::min<std::size_t>((wanted.size() + 3) / 4, 8)) {
        for (char const c : wanted)
            ++letters_[static_cast<unsigned char>(c)];
    }

    void look_at(std::string_view text) { look_at(text, text); }

    /// Looks at a text that stands for another one.
    void look_at(std::string_view text, std::string_view shown) {
        if (limit_ == 0 || compared_ == most_compared || is_far(text))
            return;
        ++compared_;
        std::size_t const distance = edit_distance(wanted_, text, limit_);
        if (distance > limit_)
            return;
        limit_ = distance > 0 ? distance - 1 : 0;
        found_ = shown;
    }

    /// ` (did you mean 'model.norm.weight'?)`, or nothing.
    std::string question() const {
        return found_.empty() ? std::string() : " (did you mean '" + found_ + "'?)";
    }

private:
    static constexpr std::size_t longest = 512;
    static constexpr std::size_t most_compared = 4096;

    static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

    /// Whether a text is further away than the best one, found out without comparing it in full.
    bool is_far(std::string_view text) const {
        std::size_t const longer = std::max(text.size(), wanted_.size());
        if (longer - std::min(text.size(), wanted_.size()) > limit_)
            return true;
        return (same_numbers_ && !has_same_numbers(text)) || other_letters(text) > limit_;
    }

    bool has_same_numbers(std::string_view text) const {
        auto mine = wanted_.begin();
        for (char const c : text) {
            if (!is_digit(c))
                continue;
            mine = std::find_if(mine, wanted_.end(), is_digit);
            if (mine == wanted_.end() || *mine++ != c)
                return false;
        }
        return std::none_of(mine, wanted_.end(), is_digit);
    }

    /// How many letters one has that the other lacks: no fewer have to change.
    std::size_t other_letters(std::string_view text) const {
        std::array<int, 256> counts = letters_;
        for (char const c : text)
            --counts[static_cast<unsigned char>(c)];
        std::size_t more = 0, fewer = 0;
        for (int const count : counts)
            (count > 0 ? more : fewer) += static_cast<std::size_t>(std::abs(count));
        return std::max(more, fewer);
    }

    std::string_view wanted_;
    bool same_numbers_;
    std::size_t limit_; ///< what is found next has to be this near
    std::size_t compared_ = 0;
    std::array<int, 256> letters_{};
    std::string found_;
};

/// ` (did you mean 'axis'?)` where one of `words` is near, or nothing. `text_of` shows a word's text.
template <class Words, class TextOf = std::identity>
std::string did_you_mean(std::string_view wanted, Words const& words, TextOf const& text_of = {}) {
    nearest_text search(wanted, false);
    for (auto const& word : words)
        search.look_at(std::invoke(text_of, word));
    return search.question();
}

/// The same for the keys of tensors, whose numbers are no slips of the pen.
template <class Keys, class KeyOf = std::identity>
std::string did_you_mean_key(std::string_view wanted, Keys const& keys, KeyOf const& key_of = {}) {
    nearest_text search(wanted, true);
    for (auto const& one : keys)
        search.look_at(std::invoke(key_of, one));
    return search.question();
}

} // namespace reshard

#endif
