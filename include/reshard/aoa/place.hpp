// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_PLACE_HPP
#define RESHARD_AOA_PLACE_HPP

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

/// \file
/// Places in a text, as people count them, and the line around one with a caret.

namespace reshard::aoa {

/// A line and a column, both from 1. A column is a character of UTF-8, not a byte.
struct place {
    std::size_t line = 1;
    std::size_t column = 1;

    constexpr bool operator==(place const&) const = default;
};

namespace detail {

/// The number of characters that begin in a piece of UTF-8.
constexpr std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// True for the characters that end a line, alone or as `\r\n`.
constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }

/// Where the line begins that the byte `offset` stands in.
constexpr std::size_t line_begin(std::string_view text, std::size_t offset) {
    while (offset > 0 && !ends_line(text[offset - 1]))
        --offset;
    return offset;
}

} // namespace detail

/// The place of the byte `offset` of `text`. `\n`, `\r` and `\r\n` end a line.
constexpr place place_of(std::string_view text, std::size_t offset) {
    offset = std::min(offset, text.size());
    std::size_t const begin = detail::line_begin(text, offset);
    std::size_t lines = 0;
    for (std::size_t i = 0; i < begin; ++i)
        lines += text[i] == '\n' || (text[i] == '\r' && (i + 1 == begin || text[i + 1] != '\n'));
    return {lines + 1, detail::characters(text.substr(begin, offset - begin)) + 1};
}

/// The line around the byte `offset` and below it a caret, both indented; no new line at the end.
///
/// A line of more than a hundred bytes is cut around the caret: programs write lines that people do
/// not.
inline std::string excerpt(std::string_view text, std::size_t offset) {
    constexpr std::size_t before = 60, width = 100;
    offset = std::min(offset, text.size());
    std::size_t const begin = detail::line_begin(text, offset);
    std::string_view line = text.substr(begin, text.find_first_of("\r\n", begin) - begin);
    std::size_t column = offset - begin;
    std::string shown = "    ";
    if (line.size() > width && column > before) {
        shown += "...";
        line.remove_prefix(column - before);
        column = before;
    }
    std::size_t const indent = shown.size() + detail::characters(line.substr(0, column));
    for (char const c : line.substr(0, width))
        shown += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    return shown + (line.size() > width ? "...\n" : "\n") + std::string(indent, ' ') + '^';
}

/// `file:line:column`, or `program:line:column` for a text that came from no file.
inline std::string place_text(std::string_view file, std::string_view text, std::size_t offset) {
    place const at = place_of(text, offset);
    return std::string(file.empty() ? "program" : file) + ':' + std::to_string(at.line) + ':' +
           std::to_string(at.column);
}

} // namespace reshard::aoa

#endif
