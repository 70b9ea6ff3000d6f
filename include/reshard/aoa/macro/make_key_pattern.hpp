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
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// \file
/// The pattern of the keys that a name in a program matches.

namespace reshard::aoa {

namespace detail {

/// Whether a text needs no quotes in a program, and has no special meaning there.
constexpr bool is_plain(std::string_view text) {
    bool const digit_first = !text.empty() && text[0] >= '0' && text[0] <= '9';
    return !text.empty() && text[0] != '.' && !digit_first && text != "_" && !may_be_word(text) &&
           std::ranges::all_of(text, is_plain_char);
}

/// A key as a program has to spell it. A key that contains `'` was written in `"`, in which its `$`
/// and `*` had no special meaning, so `"` is safe for it.
RESHARD_DECL std::string quoted_name(std::string_view text);

/// A name of several segments as a program has to spell it: in quotes if its text needs them.
RESHARD_DECL std::string pattern_text(vector<segment> const& segments);

/// An attribute as a program has to spell it, in its original quotes.
RESHARD_DECL std::string attribute_text(attribute const& attribute);

/// `left -> right, attributes`; `spell` returns the text of each name.
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

/// A name as a program has to spell it, without `^T`.
RESHARD_DECL std::string bare_name_text(program const& whole_program, name const& name);

} // namespace detail

/// A statement as a line of text. Temporaries have their preferred names.
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

/// The index of the first digit from `at` on, or the end.
constexpr std::size_t next_digit(std::string_view text, std::size_t at) {
    while (at < text.size() && !is_digit(text[at]))
        ++at;
    return at;
}

/// A piece of a pattern: a text, and optionally a number after it.
struct pattern_piece {
    std::string text;
    bool has_number = false;
    std::optional<std::size_t> capture; ///< the index of the number in a match, if it is captured
};

/// A name with open numbers. There is text between any two of them, so a match is unique.
struct key_pattern {
    vector<pattern_piece> pieces;
    std::size_t captures = 0;
};

/// Whether the pattern matches all of `key`. If it does, `numbers` are the captured numbers. A
/// number has at most 18 digits.
///
/// \pre `numbers.size() == pattern.captures`
RESHARD_DECL bool match(key_pattern const& pattern, std::string_view key,
                        std::span<index_t> numbers);

/// Makes the pattern of a name. `capture_of` returns the index of the capture for a segment; open
/// numbers without an index match, but are not captured.
///
/// \throws statement_error with errc::bad_macro if there are only digits between two open numbers
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
            throw statement_error{errc::bad_macro,
                                  "two placeholders with only digits between them are ambiguous",
                                  {}};
        last.has_number = true;
        last.capture = capture_of(segment);
        result.captures += last.capture.has_value();
        result.pieces.emplace_back();
    }
    return result;
}

/// The value of a placeholder whose formula gives `number`; std::nullopt if there is none.
///
/// \param on_right whether the name is on the right of the arrow, where `$LAYER_ID_OFFSET` is one
///                 less
RESHARD_DECL std::optional<index_t> value_for(segment const& placeholder, index_t number,
                                              bool on_right);

/// The number that a placeholder's formula gives; std::nullopt if a division leaves a remainder.
RESHARD_DECL std::optional<index_t> number_of(segment const& placeholder, index_t value,
                                              bool on_right);

/// What the open segments of a name match in a key.
struct name_match {
    vector<std::string_view> texts;             ///< by `**`; parts of the key
    std::map<std::string_view, index_t> values; ///< by placeholder
};

/// Compares a key with a name of texts, `**` and placeholders. An earlier `**` matches as little as
/// possible; a placeholder matches all digits at its place, and has one value wherever it occurs.
RESHARD_DECL std::optional<name_match> match_name(vector<segment> const& segments,
                                                  std::string_view key, bool on_right);

/// A name of such segments with what another name matched; std::nullopt if a number would be
/// negative or not whole.
///
/// \pre the names have the same placeholders, and `**` equally often
RESHARD_DECL std::optional<std::string> fill_name(vector<segment> const& segments,
                                                  name_match const& match, bool on_right);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/make_key_pattern.ipp>
#endif

#endif
