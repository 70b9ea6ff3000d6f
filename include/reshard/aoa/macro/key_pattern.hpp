// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_KEY_PATTERN_HPP
#define RESHARD_AOA_MACRO_KEY_PATTERN_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Names with numbers left open, and whether they match a key.

namespace reshard::aoa::detail {

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

/// Whether the pattern matches all of `key`; `numbers` are the captured ones then. A number has at
/// most 18 digits.
///
/// \pre `numbers.size() == pattern.captures`
RESHARD_DECL bool match(key_pattern const& pattern, std::string_view key,
                        std::span<index_t> numbers);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/key_pattern.ipp>
#endif

#endif
