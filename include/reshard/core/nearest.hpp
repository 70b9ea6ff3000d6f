// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_NEAREST_HPP
#define RESHARD_CORE_NEAREST_HPP

#include <reshard/core/config.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

/// \file
/// Suggestions for names that do not exist.

namespace reshard::detail {

/// The characters that have to be inserted, removed, replaced or exchanged with their neighbour to
/// make `b` of `a`; where they are more than `most`, `most + 1`.
///
/// \par Source the optimal string alignment distance, in the band of `most` around the diagonal
RESHARD_DECL std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

/// Looks for the text nearest to one that does not exist; one that is too far away is none.
///
/// A quarter of the characters may be wrong, at most 8. Of equally near texts the first one counts.
/// A look costs the length of the text; at most 4096 texts are compared in full.
class nearest_text {
public:
    /// \param same_numbers whether the digits have to be the same: layer 3 is not a typo of layer 2
    nearest_text(std::string_view wanted, bool same_numbers);

    void look_at(std::string_view text) { look_at(text, text); }

    /// Looks at a text that stands for another one.
    void look_at(std::string_view text, std::string_view shown);

    /// ` (did you mean 'model.norm.weight'?)`, or nothing.
    std::string question() const {
        return found_.empty() ? std::string() : " (did you mean '" + found_ + "'?)";
    }

private:
    static constexpr std::size_t longest = 512;
    static constexpr std::size_t most_compared = 4096;

    static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

    /// Whether a text is further away than the best one, found out without comparing it in full.
    bool is_far(std::string_view text) const;

    bool has_same_numbers(std::string_view text) const;

    /// How many letters one has that the other lacks: no fewer have to change.
    std::size_t other_letters(std::string_view text) const;

    std::string_view wanted_;
    bool same_numbers_;
    std::size_t limit_; ///< what is found next has to be this near
    std::size_t compared_ = 0;
    std::array<int, 256> letters_{};
    std::string found_;
};

/// ` (did you mean 'axis'?)` where one of `words` is near, or nothing. `text_of` shows a word's
/// text.
template <class Words, class TextOf = std::identity>
std::string did_you_mean(std::string_view wanted, Words const& words, TextOf const& text_of = {}) {
    nearest_text search(wanted, false);
    for (auto const& word : words)
        search.look_at(std::invoke(text_of, word));
    return search.question();
}

/// The same for the keys of tensors, whose numbers are not typos.
template <class Keys, class KeyOf = std::identity>
std::string did_you_mean_key(std::string_view wanted, Keys const& keys, KeyOf const& key_of = {}) {
    nearest_text search(wanted, true);
    for (auto const& one : keys)
        search.look_at(std::invoke(key_of, one));
    return search.question();
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/core/impl/nearest.ipp>
#endif

#endif
