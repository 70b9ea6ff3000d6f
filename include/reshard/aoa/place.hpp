// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_PLACE_HPP
#define RESHARD_AOA_PLACE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// Positions in a text by line and column, and the line around a position with a caret.

namespace reshard::aoa {

/// A line and a column, both counted from 1. A column is a UTF-8 character, not a byte.
struct place {
    std::size_t line = 1;
    std::size_t column = 1;

    constexpr bool operator==(place const&) const = default;
};

namespace detail {

/// The number of characters that begin in a piece of UTF-8 text.
constexpr std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// The offset of the first byte of a UTF-8 character that contains byte `offset`; `offset` itself
/// in other text.
constexpr std::size_t character_begin(std::string_view text, std::size_t offset) {
    std::size_t begin = offset;
    while (begin > 0 && begin < text.size() && offset - begin < 4 &&
           characters(text.substr(begin, 1)) == 0)
        --begin;
    return offset - begin < 4 ? begin : offset;
}

/// The first bytes of a text, at most `most`, without an incomplete character.
constexpr std::string_view beginning(std::string_view text, std::size_t most) {
    return text.substr(0, character_begin(text, std::min(most, text.size())));
}

/// True for the characters that end a line, alone or together as `\r\n`.
constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }

/// The separator of statements on the same line of a JSON configuration.
inline constexpr char between_statements = '\v';

constexpr bool ends_statement(char c) { return ends_line(c) || c == between_statements; }

/// The beginning of the line that contains byte `offset`.
constexpr std::size_t line_begin(std::string_view text, std::size_t offset) {
    while (offset > 0 && !ends_line(text[offset - 1]))
        --offset;
    return offset;
}

/// A line of a text, and the offset of one of its bytes; the offset may also be the end of the
/// line.
struct line_place {
    std::string_view line;
    std::size_t byte = 0;
};

/// The line around the byte `offset`.
constexpr line_place line_around(std::string_view text, std::size_t offset) {
    std::size_t const begin = line_begin(text, offset);
    return {text.substr(begin, text.find_first_of("\r\n", begin) - begin), offset - begin};
}

} // namespace detail

/// The line and column of byte `offset` of `text`. `\n`, `\r` and `\r\n` end a line.
constexpr place place_of(std::string_view text, std::size_t offset) {
    offset = std::min(offset, text.size());
    std::size_t const begin = detail::line_begin(text, offset);
    std::size_t lines = 0;
    for (std::size_t i = 0; i < begin; ++i)
        lines += text[i] == '\n' || (text[i] == '\r' && (i + 1 == begin || text[i + 1] != '\n'));
    return {lines + 1, detail::characters(text.substr(begin, offset - begin)) + 1};
}

namespace detail {

/// A line with a caret below one of its bytes, both indented, without a final line break.
///
/// A line of more than a hundred bytes is shortened around the caret: programs generate such lines.
RESHARD_DECL std::string excerpt(line_place at);

/// The excerpt for the line around byte `offset` of a text.
inline std::string excerpt(std::string_view text, std::size_t offset) {
    return excerpt(line_around(text, std::min(offset, text.size())));
}

/// `file:line:column`, or `program:line:column` for a text without a file.
RESHARD_DECL std::string place_text(std::string_view file, place const& at);

/// The position of byte `offset` of a text, in the same form.
inline std::string place_text(std::string_view file, std::string_view text, std::size_t offset) {
    return place_text(file, place_of(text, offset));
}

/// The beginnings of a text's lines, and the number of characters before a byte.
///
/// The object does not store the text, so each query needs it again. The answers are the
/// results of `place_of`, in time proportional to the logarithm of the number of lines.
class line_index {
public:
    line_index() = default;

    /// \pre `text` has less than 4 GiB
    explicit line_index(std::string_view text);

    /// The line and column of byte `offset`.
    place place_at(std::string_view text, std::size_t offset) const;

    /// The line of byte `offset`, and the offset of the byte in that line.
    line_place line_at(std::string_view text, std::size_t offset) const;

private:
    static constexpr std::size_t stride = 256;

    std::size_t line_of(std::size_t offset) const;

    /// The number of characters that begin before a byte.
    std::size_t characters(std::string_view text, std::size_t offset) const;

    vector<std::uint32_t> begins_{0};     ///< offset of each line
    vector<std::uint32_t> characters_{0}; ///< number of characters before each `stride` bytes
};

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/place.ipp>
#endif

#endif
