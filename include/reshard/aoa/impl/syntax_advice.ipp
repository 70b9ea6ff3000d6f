// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_SYNTAX_ADVICE_IPP
#define RESHARD_AOA_IMPL_SYNTAX_ADVICE_IPP

#include <reshard/aoa/syntax_advice.hpp>

#include <reshard/aoa/place.hpp>
#include <reshard/aoa/words.hpp>

#include <algorithm>
#include <initializer_list>

namespace reshard::aoa::detail {

/// Whether a text begins with one of those.
constexpr bool begins_with(std::string_view text, std::initializer_list<std::string_view> any) {
    return std::ranges::any_of(any, [&](std::string_view one) { return text.starts_with(one); });
}

RESHARD_DECL std::string found(std::string_view rest) {
    if (rest.empty())
        return "the end of the text";
    if (ends_line(rest.front()))
        return "the end of the line";
    auto const in_word = [](char c) {
        return is_plain_char(c) || c == '$' || c == '*' || c == '^' || (c & 0x80) != 0;
    };
    std::size_t length = 0;
    while (length < rest.size() && in_word(rest[length]))
        ++length;
    if (begins_with(rest, {"->", "=>", "<-", "//", "/*", "--"}))
        length = rest.starts_with("-->") ? 3 : 2;
    return "'" + std::string(beginning(rest, std::clamp<std::size_t>(length, 1, 60))) + "'";
}

/// The letters and digits that a text begins with.
constexpr std::string_view first_word(std::string_view text) {
    auto const end = std::ranges::find_if_not(text, is_plain_char);
    return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// A text without the blanks at its end.
constexpr std::string_view without_blanks_behind(std::string_view text, std::string_view blanks) {
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// What to do about something that is no value of an attribute, whose word and `=` end `before`.
inline std::string value_advice(std::string_view before, std::string_view rest) {
    before = without_blanks_behind(before, " \t=");
    std::string const word(
        before.substr(before.find_last_not_of("abcdefghijklmnopqrstuvwxyz_") + 1));
    attribute_word const* const known = find_attribute_word(word);
    if (rest.starts_with('"') || rest.starts_with('\''))
        return "; is the quote closed?";
    std::string value(first_word(rest));
    if (rest.starts_with('[') && rest.find(']') < rest.find_first_of("\r\n"))
        value = rest.substr(0, rest.find(']') + 1);
    bool const is_number = rest.starts_with('-') || (!value.empty() && value[0] <= '9');
    if (known && known->value == value_kind::number && is_number)
        return "; an integer has 64 bits";
    if (known && known->value == value_kind::number)
        return "; " + word + " takes an integer, as in " + word + "=1";
    if (value.empty() || value.size() > 60)
        return {};
    return "; strings are quoted: " + word + "=\"" + value + '"';
}

/// What to do where the arrow is missing, or something else stands for it.
inline std::string arrow_advice(std::string_view rest) {
    constexpr std::string_view arrow = "\xe2\x86\x92", short_dash = "\xe2\x80\x93";
    return begins_with(rest, {"=", "<-", "<=", ":=", "-->", "~>", arrow, short_dash})
               ? "; the arrow is written '->', with inputs on its left and results on its right"
               : "";
}

/// What to do about characters that mean something in other languages.
inline std::string habit_advice(std::string_view before, std::string_view rest) {
    bool const is_apart =
        before.empty() || ends_line(before.back()) || before.back() == ' ' || before.back() == '\t';
    std::string_view const line = without_blanks_behind(before, " \t");
    bool const is_first = line.empty() || ends_line(line.back());
    if ((is_apart && begins_with(rest, {"//", "/*", "--", "%"})) ||
        (is_first && rest.starts_with(';')))
        return "; a comment begins with '#'";
    if (rest.starts_with(';'))
        return "; a statement ends with its line, without ';'";
    if (!is_apart && begins_with(rest, {"{", "<", "%"}))
        return "; to match every number, write a placeholder, as in l.$LAYER_ID.w; to list some, "
               "a range, as in w[0:4]";
    return {};
}

/// What to do about a comma that is missing or superfluous.
inline std::string comma_advice(std::string_view before, std::string_view rest,
                                std::string_view expected) {
    bool const is_end = rest.empty() || ends_line(rest.front()) || rest.starts_with("->");
    if (is_end && without_blanks_behind(before, " \t").ends_with(','))
        return "; is the comma before it superfluous?";
    std::string_view const line = before.substr(before.find_last_of("\r\n") + 1);
    before.remove_suffix(line.size());
    bool const is_first = line.find_first_not_of(" \t") == line.npos;
    bool const ends_name = rest.starts_with("->") && line.find(',') == line.npos;
    if ((is_first || ends_name) && without_blanks_behind(before, " \t\r\n").ends_with(','))
        return "; the previous line ends in ',', so the statement continues here: is that comma "
               "superfluous?";
    if (expected.starts_with("','") && !rest.empty() && is_plain_char(rest[0]))
        return "; is a comma missing before it?";
    if (rest.starts_with(','))
        return "; a statement continues on the next line when a line ends in ',' or '->'";
    return {};
}

/// What to do about a name that cannot stand there as it is.
inline std::string name_advice(std::string_view before, std::string_view rest) {
    std::string_view const word =
        rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
    if (is_reserved(word))
        return "; '" + std::string(word) +
               "' is a word of the language, a tensor of that name is written in quotes";
    if (rest.starts_with('"') || rest.starts_with('\''))
        return "; is the quote closed?";
    if (rest.starts_with('[') && before.ends_with("^T"))
        return "; '^T' goes after the brackets";
    bool const in_name =
        !before.empty() && std::string_view(" \t\r\n,").find(before.back()) == before.npos;
    if (begins_with(rest, {"-", "/", ":", "@", "+", "\\"}) && in_name)
        return "; a name with other characters than letters, digits, '.' and '_' is written in "
               "quotes";
    return {};
}

RESHARD_DECL std::string advice(std::string_view text, std::size_t offset,
                                std::string_view expected) {
    std::string_view const before = text.substr(0, offset), rest = text.substr(offset);
    if (expected.starts_with("an integer"))
        return value_advice(before, rest);
    std::string found = expected == "'->'" ? arrow_advice(rest) : "";
    if (found.empty())
        found = habit_advice(before, rest);
    if (found.empty())
        found = comma_advice(before, rest, expected);
    return found.empty() ? name_advice(before, rest) : found;
}

} // namespace reshard::aoa::detail

#endif
