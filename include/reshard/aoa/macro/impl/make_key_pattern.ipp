// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_MAKE_KEY_PATTERN_IPP
#define RESHARD_AOA_MACRO_IMPL_MAKE_KEY_PATTERN_IPP

#include <reshard/aoa/macro/make_key_pattern.hpp>

#include <boost/assert.hpp>

#include <variant>

namespace reshard::aoa {

namespace detail {

RESHARD_DECL std::string quoted_name(std::string_view text) {
    if (is_plain(text))
        return std::string(text);
    bool const literal = text.find_first_of("$*\"") != std::string_view::npos &&
                         text.find('\'') == std::string_view::npos;
    char const quote = literal ? '\'' : '"';
    return quote + std::string(text) + quote;
}

/// Whether the text `behind` a placeholder would be parsed as the placeholder's shift.
constexpr bool is_shift(std::string_view behind) {
    std::size_t const sign = behind.find_first_not_of(" \t");
    if (sign == std::string_view::npos || (behind[sign] != '+' && behind[sign] != '-'))
        return false;
    std::size_t const digit = behind.find_first_not_of(" \t", sign + 1);
    return digit != std::string_view::npos && is_digit(behind[digit]);
}

/// Whether the text `behind` a placeholder would be parsed as a part of its name, or as its shift.
constexpr bool goes_on(std::string_view placeholder, std::string_view behind) {
    auto const is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (is_shift(behind))
        return true;
    if (placeholder == "EXPERT_ID" || placeholder == "LAYER_ID_OFFSET" || behind.empty())
        return false;
    if (placeholder == "LAYER_ID")
        return behind.starts_with("_OFFSET");
    bool const is_word = behind[0] == '_' && behind.size() > 1 && is_capital(behind[1]);
    return is_digit(behind[0]) || is_capital(behind[0]) || is_word;
}

/// The shift of a placeholder as text. It is `+0` if the text `behind` would otherwise continue the
/// name. It has nine digits if that text would continue the number.
inline std::string shift_text(segment const& placeholder, std::string_view behind) {
    index_t const shift = placeholder.first;
    if (shift == 0 && !goes_on(placeholder.text, behind))
        return {};
    bool const adjoins = !behind.empty() && is_digit(behind[0]);
    std::string const digits = std::to_string(shift < 0 ? -shift : shift);
    std::size_t const zeros = adjoins && digits.size() < 9 ? 9 - digits.size() : 0;
    return (shift < 0 ? '-' : '+') + std::string(zeros, '0') + digits;
}

/// A segment as a program has to spell it before the text `behind`, without quotes around the name.
inline std::string segment_text(segment const& segment, std::string_view behind) {
    switch (segment.kind) {
    case segment::kind_type::text: return segment.text;
    case segment::kind_type::star: return "*";
    case segment::kind_type::placeholder: return '$' + segment.text + shift_text(segment, behind);
    case segment::kind_type::array: break;
    }
    return '[' + std::to_string(segment.first) + ':' + std::to_string(segment.last) + ']';
}

RESHARD_DECL std::string pattern_text(vector<segment> const& segments) {
    std::string inside, array;
    bool plain = true;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        segment const& segment = segments[i];
        bool const has_next = i + 1 < segments.size();
        (segment.kind == segment::kind_type::array ? array : inside) +=
            segment_text(segment, has_next ? std::string_view(segments[i + 1].text) : "");
        plain = plain && (segment.kind != segment::kind_type::text ||
                          std::ranges::all_of(segment.text, is_plain_char));
    }
    bool const starts_plain =
        !inside.empty() && inside[0] != '.' && (inside[0] < '0' || inside[0] > '9');
    bool const only_text = segments.front().kind == segment::kind_type::text &&
                           (segments.size() == 1 || segments[1].kind == segment::kind_type::array);
    if (only_text)
        return quoted_name(segments.front().text) + array;
    return (plain && starts_plain ? inside : '"' + inside + '"') + array;
}

RESHARD_DECL std::string attribute_text(attribute const& attribute) {
    if (auto const* const number = std::get_if<index_t>(&attribute.value))
        return attribute.word + '=' + std::to_string(*number);
    if (auto const* const text = std::get_if<std::string>(&attribute.value))
        return attribute.word + '=' + attribute.quote + *text + attribute.quote;
    return attribute.word;
}

RESHARD_DECL std::string bare_name_text(program const& whole_program, name const& name) {
    switch (name.kind) {
    case name::kind_type::pattern: return pattern_text(whole_program.pattern(name));
    case name::kind_type::nothing: return "_";
    default: return quoted_name(whole_program.text(name));
    }
}

} // namespace detail

RESHARD_DECL std::string print(program const& whole_program, statement const& statement) {
    return detail::statement_text(whole_program, statement, [&](name const& each) {
        return detail::bare_name_text(whole_program, each);
    });
}

} // namespace reshard::aoa

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
