// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_MAKE_KEY_PATTERN_HPP
#define RESHARD_AOA_MACRO_MAKE_KEY_PATTERN_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// \file
/// The keys that a name of a program may mean.

namespace reshard::aoa {

namespace detail {

/// Whether a text needs no quotes in a program and then means itself.
constexpr bool is_plain(std::string_view text) {
    bool const digit_first = !text.empty() && text[0] >= '0' && text[0] <= '9';
    return !text.empty() && text[0] != '.' && !digit_first && text != "_" && !may_be_word(text) &&
           std::ranges::all_of(text, is_plain_char);
}

/// The text of a key as it has to be written. A key with `'` was written in `"`, in which its `$`
/// and `*` meant themselves.
RESHARD_DECL std::string quoted_name(std::string_view text);

/// A name of several segments as it has to be written: in quotes if its text needs them.
RESHARD_DECL std::string pattern_text(vector<segment> const& segments);

/// An attribute as it has to be written, in the quotes in which it was.
RESHARD_DECL std::string attribute_text(attribute const& attribute);

/// `left -> right, attributes`, with names as `spell` writes them.
std::string statement_text(program const& whole_program, statement const& statement,
                           auto const& spell) {
    std::string line;
    for (std::size_t i = 0; i < whole_program.names(statement).size(); ++i) {
        line += i == statement.left ? " -> " : i > 0 ? ", " : "";
        name const& each = whole_program.names(statement)[i];
        line += spell(each) + (each.transposed ? "^T" : "");
    }
    for (attribute const& each : whole_program.attributes(statement))
        line += ", " + attribute_text(each);
    return line;
}

/// A name as it has to be written, without `^T`.
RESHARD_DECL std::string bare_name_text(program const& whole_program, name const& name);

} // namespace detail

/// One statement as a line of text. Temporaries have the names that they would like to have.
RESHARD_DECL std::string print(program const& whole_program, statement const& statement);

} // namespace reshard::aoa

namespace reshard::aoa::detail {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number of consecutive digits from `at` on.
constexpr std::size_t digits_at(std::string_view text, std::size_t at) {
    std::size_t last = at;
    while (last < text.size() && is_digit(text[last]))
        ++last;
    return last - at;
}

/// The place of the first digit from `at` on, or the end.
constexpr std::size_t next_digit(std::string_view text, std::size_t at) {
    while (at < text.size() && !is_digit(text[at]))
        ++at;
    return at;
}

/// A piece of a pattern: a text, then perhaps a number.
struct pattern_piece {
    std::string text;
    bool has_number = false;
    std::optional<std::size_t> capture; ///< which number of a match it is, if it is one
};

/// A name with numbers left open. Two numbers never touch, so that a match is unique.
struct key_pattern {
    vector<pattern_piece> pieces;
    std::size_t captures = 0;
};

/// Whether the pattern matches all of `key`; `numbers` are the captured ones then. A number has at
/// most 18 digits.
///
/// \pre `numbers.size() == pattern.captures`
RESHARD_DECL bool match(key_pattern const& pattern, std::string_view key,
                        std::span<index_t> numbers);

/// The pattern of a name in which the segments of one kind are captured, in the order that
/// `capture_of` says; the other open numbers match, and are forgotten.
///
/// \throws statement_error with errc::bad_macro if only digits are between two open numbers
key_pattern make_key_pattern(vector<segment> const& segments, auto const& capture_of) {
    key_pattern result;
    result.pieces.emplace_back();
    for (segment const& segment : segments) {
        pattern_piece& last = result.pieces.back();
        if (segment.kind == segment::kind_type::text) {
            last.text += segment.text;
            continue;
        }
        if (segment.kind == segment::kind_type::array)
            last.text += '_';
        if (result.pieces.size() > 1 && digits_at(last.text, 0) == last.text.size())
            throw statement_error{
                errc::bad_macro, "two open numbers with nothing but digits between them", {}};
        last.has_number = true;
        last.capture = capture_of(segment);
        result.captures += last.capture.has_value();
        result.pieces.emplace_back();
    }
    return result;
}

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/make_key_pattern.ipp>
#endif

#endif
