// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_PARSE_IPP
#define RESHARD_AOA_IMPL_PARSE_IPP

#include <reshard/aoa/parse.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/aoa/grammar.hpp>
#include <reshard/aoa/impl/config.ipp>
#include <reshard/aoa/place.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>

namespace reshard::aoa {

namespace detail {

/// Whether a text begins with one of the texts in `any`.
constexpr bool begins_with(std::string_view text, std::initializer_list<std::string_view> any) {
    return std::ranges::any_of(any, [&](std::string_view name) { return text.starts_with(name); });
}

RESHARD_DECL std::string found(std::string_view remainder) {
    if (remainder.empty())
        return "the end of the text";
    if (ends_line(remainder.front()))
        return "the end of the line";
    if (ends_statement(remainder.front()))
        return "the end of the statement";
    auto const in_word = [](char c) {
        return is_plain_char(c) || c == '$' || c == '*' || c == '^' || (c & 0x80) != 0;
    };
    std::size_t length = 0;
    while (length < remainder.size() && in_word(remainder[length]))
        ++length;
    if (begins_with(remainder, {"->", "=>", "<-", "//", "/*", "--"}))
        length = remainder.starts_with("-->") ? 3 : 2;
    return "'" + std::string(beginning(remainder, std::clamp<std::size_t>(length, 1, 60))) + "'";
}

/// The letters and digits at the beginning of a text.
constexpr std::string_view first_word(std::string_view text) {
    auto const end = std::ranges::find_if_not(text, is_plain_char);
    return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// A text without the blanks at its end.
constexpr std::string_view without_blanks_behind(std::string_view text, std::string_view blanks) {
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Advice about a wrong value of an attribute. `before` ends with the attribute's word and `=`.
inline std::string value_advice(std::string_view before, std::string_view remainder) {
    before = without_blanks_behind(before, " \t=");
    std::string const word(
        before.substr(before.find_last_not_of("abcdefghijklmnopqrstuvwxyz_") + 1));
    attribute_word const* const attribute_word = find_attribute_word(word);
    if (remainder.starts_with('"') || remainder.starts_with('\''))
        return "; is the quote closed?";
    std::string value(first_word(remainder));
    if (remainder.starts_with('[') && remainder.find(']') < remainder.find_first_of("\r\n"))
        value = remainder.substr(0, remainder.find(']') + 1);
    std::string_view const digits = remainder.substr(remainder.starts_with('-') ? 1 : 0);
    bool const is_number = !digits.empty() && digits[0] >= '0' && digits[0] <= '9';
    if (attribute_word && attribute_word->value == value_kind::number && is_number)
        return "; integers must fit in 64 bits";
    if (attribute_word && attribute_word->value == value_kind::real && is_number)
        return "; an integer must fit in 64 bits; larger ones are written as in 1e20";
    if (attribute_word && attribute_word->value == value_kind::real)
        return "; " + word + " takes a number, as in " + word + "=0.5";
    if (attribute_word && attribute_word->value == value_kind::number)
        return "; " + word + " takes an integer, as in " + word + "=1";
    if (value.empty() || value.size() > 60)
        return {};
    return "; strings are quoted: " + word + "=\"" + value + '"';
}

/// Advice if the arrow is missing, or if the text has another symbol for it.
inline std::string arrow_advice(std::string_view remainder) {
    constexpr std::string_view arrow = "\xe2\x86\x92", short_dash = "\xe2\x80\x93";
    return begins_with(remainder, {"=", "<-", "<=", ":=", "-->", "~>", arrow, short_dash})
               ? "; the arrow is written '->', with inputs on its left and results on its right"
               : "";
}

/// Advice about characters from the syntax of other languages.
inline std::string habit_advice(std::string_view before, std::string_view remainder) {
    bool const is_apart = before.empty() || ends_statement(before.back()) || before.back() == ' ' ||
                          before.back() == '\t';
    std::string_view const line = without_blanks_behind(before, " \t");
    bool const is_first = line.empty() || ends_statement(line.back());
    if ((is_apart && begins_with(remainder, {"//", "/*", "--", "%"})) ||
        (is_first && remainder.starts_with(';')))
        return "; a comment begins with '#'";
    if (remainder.starts_with(';'))
        return "; a statement ends with its line, without ';'";
    if (before.ends_with('$') && remainder.starts_with('{'))
        return "; a computed number has a name in capitals, as in ${2*N + 1} or ${N/2}";
    if (!is_apart && begins_with(remainder, {"{", "<", "%"}))
        return "; to match every number, write a placeholder, as in l.$LAYER_ID.w; to list some, "
               "write a range, as in w[0:4]";
    return {};
}

/// Advice about a missing or superfluous comma.
inline std::string comma_advice(std::string_view before, std::string_view remainder,
                                std::string_view expected) {
    bool const is_end =
        remainder.empty() || ends_statement(remainder.front()) || remainder.starts_with("->");
    if (is_end && without_blanks_behind(before, " \t").ends_with(','))
        return "; is the comma before it superfluous?";
    std::string_view const line = before.substr(before.find_last_of("\r\n\v") + 1);
    before.remove_suffix(line.size());
    bool const is_first = line.find_first_not_of(" \t") == line.npos;
    bool const ends_name = remainder.starts_with("->") && line.find(',') == line.npos;
    if ((is_first || ends_name) && without_blanks_behind(before, " \t\r\n").ends_with(','))
        return "; the previous line ends in ',', so the statement continues here: is that comma "
               "superfluous?";
    if (expected.starts_with("','") && !remainder.empty() && is_plain_char(remainder[0]))
        return "; is a comma missing before it?";
    if (remainder.starts_with(','))
        return "; a statement continues on the next line when a line ends in ',' or '->'";
    return {};
}

/// Advice about a name that is not allowed in this form.
inline std::string name_advice(std::string_view before, std::string_view remainder) {
    std::string_view const word =
        remainder.substr(0, remainder.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
    if (is_reserved(word))
        return "; '" + std::string(word) +
               "' is a reserved word; a tensor of that name is written in quotes";
    if (remainder.starts_with('"') || remainder.starts_with('\''))
        return "; is the quote closed?";
    if (remainder.starts_with('[') && before.ends_with("^T"))
        return "; '^T' goes after the brackets";
    bool const in_name =
        !before.empty() && std::string_view(" \t\r\n,").find(before.back()) == before.npos;
    if (begins_with(remainder, {"-", "/", ":", "@", "+", "\\"}) && in_name)
        return "; a name with characters other than letters, digits, '.' and '_' is written in "
               "quotes";
    return {};
}

RESHARD_DECL std::string advice(std::string_view text, std::size_t offset,
                                std::string_view expected) {
    std::string_view const before = text.substr(0, offset), remainder = text.substr(offset);
    if (expected.starts_with("a number"))
        return value_advice(before, remainder);
    std::string match = expected == "'->'" ? arrow_advice(remainder) : "";
    if (match.empty())
        match = habit_advice(before, remainder);
    if (match.empty())
        match = comma_advice(before, remainder, expected);
    return match.empty() ? name_advice(before, remainder) : match;
}

/// Fails with a syntax error at `offset`.
[[noreturn]] inline void fail_syntax(program const& whole_program, std::size_t offset,
                                     std::string const& expected) {
    std::string_view const text = whole_program.source_text();
    offset = std::min(text.size(), text.find_first_not_of(" \t", offset));
    if (offset == text.size()) // shows the unfinished line, not an empty line after it
        offset = text.find_last_not_of(" \t\r\n\v") + 1;
    fail(errc::syntax, place_text(whole_program.file(), text, offset), ": syntax: expected ",
         expected, ", found ", found(text.substr(offset)), advice(text, offset, expected), "\n",
         excerpt(text, offset));
}

/// Parses the program's text with the grammar.
inline vector<syntax::written_statement> parse_tree(program const& whole_program) {
    namespace x3 = boost::spirit::x3;
    vector<syntax::written_statement> tree;
    char const* const begin = whole_program.source_text().data();
    char const* const end = begin + whole_program.source_text().size();
    char const* first = begin;
    try {
        x3::phrase_parse(first, end, x3::with<syntax::text_begin>(begin)[syntax::whole_program],
                         syntax::blank, tree);
    } catch (x3::expectation_failure<char const*> const& failure) {
        fail_syntax(whole_program, static_cast<std::size_t>(failure.where() - begin),
                    failure.which());
    }
    return tree;
}

/// Adds a name to the program, from the name as the user wrote it.
inline name make_name(program& whole_program, syntax::written_name&& written) {
    segment const& first = written.segments.front();
    bool const plain = written.segments.size() == 1 && first.kind == segment::kind_type::text;
    name name{name::kind_type::nothing, false, 0, written.where};
    if (!plain)
        name = whole_program.make_pattern(std::move(written.segments), written.where);
    else if (written.quoted || first.text != "_")
        name = whole_program.make_text(first.text, written.where);
    name.transposed = written.transposed;
    return name;
}

} // namespace detail

RESHARD_DECL program parse(std::string_view text, std::string_view file) {
    if (text.size() > 0xfffffffeu)
        fail(errc::limit_exceeded, "a program of ", text.size(),
             " bytes is larger than the limit of 4 GiB");
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark))
        text.remove_prefix(byte_order_mark.size());
    std::string statements;
    if (detail::is_config(text))
        text = statements = detail::config_reader(text, file).statements();
    program whole_program(text, file);
    vector<name> left, right;
    for (syntax::written_statement& written : detail::parse_tree(whole_program)) {
        left.clear();
        right.clear();
        for (syntax::written_name& name : written.left)
            left.push_back(detail::make_name(whole_program, std::move(name)));
        for (syntax::written_name& name : written.right)
            right.push_back(detail::make_name(whole_program, std::move(name)));
        statement like;
        like.where = written.where;
        like.attributes = whole_program.make_attributes(std::move(written.attributes));
        like.origin = whole_program.make_origin({{}, 0, written.where});
        whole_program.add(whole_program.make_statement(left, right, like));
    }
    return whole_program;
}

} // namespace reshard::aoa

#endif
