// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_KEY_PATTERN_IPP
#define RESHARD_AOA_MACRO_IMPL_KEY_PATTERN_IPP

#include <reshard/aoa/macro/key_pattern.hpp>

#include <reshard/aoa/macro/digits.hpp>

#include <boost/assert.hpp>

namespace reshard::aoa::detail {

RESHARD_DECL bool match(key_pattern const& pattern, std::string_view key,
                        std::span<index_t> numbers) {
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

} // namespace reshard::aoa::detail

#endif
