// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_KEY_PATTERN_HPP
#define RESHARD_AOA_MACRO_KEY_PATTERN_HPP

#include <reshard/aoa/macro/digits.hpp>
#include <reshard/core/index_vector.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Names with numbers left open, and whether they match a key.

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

namespace detail {

/// Whether the pattern matches all of `key`; `numbers` are the captured ones then. A number has at
/// most 18 digits.
///
/// \pre `numbers.size() == pattern.captures`
inline bool match(key_pattern const& pattern, std::string_view key, std::span<index_t> numbers) {
    BOOST_ASSERT(numbers.size() == pattern.captures);
    std::size_t at = 0;
    for (std::size_t i = 0; i < pattern.pieces.size(); ++i) {
        pattern_piece const& piece = pattern.pieces[i];
        if (!key.substr(at).starts_with(piece.text))
            return false;
        at += piece.text.size();
        if (!piece.has_number)
            continue;
        bool const last = i + 1 == pattern.pieces.size();
        std::size_t const fixed = last ? 0 : digits_at(pattern.pieces[i + 1].text, 0);
        std::size_t const run = digits_at(key, at);
        if (run <= fixed || run - fixed > 18)
            return false;
        index_t number = 0;
        for (std::size_t const end = at + run - fixed; at < end; ++at)
            number = 10 * number + (key[at] - '0');
        if (piece.capture)
            numbers[*piece.capture] = number;
    }
    return at == key.size();
}

} // namespace detail

} // namespace reshard::aoa

#endif
