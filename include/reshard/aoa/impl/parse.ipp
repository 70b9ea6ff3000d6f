// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_PARSE_IPP
#define RESHARD_AOA_IMPL_PARSE_IPP

#include <reshard/aoa/parse.hpp>

#include <reshard/aoa/grammar.hpp>
#include <reshard/aoa/place.hpp>
#include <reshard/aoa/syntax_advice.hpp>
#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace reshard::aoa {

namespace detail {

/// The error of a text that the grammar does not know.
[[noreturn]] inline void fail_syntax(program const& whole, std::size_t offset,
                                     std::string const& expected) {
    std::string_view const text = whole.source_text();
    offset = std::min(text.size(), text.find_first_not_of(" \t", offset));
    if (offset == text.size()) // show the line that is not finished, not an empty one behind it
        offset = text.find_last_not_of(" \t\r\n") + 1;
    fail(errc::syntax, place_text(whole.file(), text, offset) + ": syntax: expected " + expected +
                           ", found " + found(text.substr(offset)) +
                           advice(text, offset, expected) + "\n" + excerpt(text, offset));
}

/// The tree that the grammar makes of the program's text.
inline std::vector<syntax::written_statement> parse_tree(program const& whole) {
    namespace x3 = boost::spirit::x3;
    std::vector<syntax::written_statement> tree;
    char const* const begin = whole.source_text().data();
    char const* const end = begin + whole.source_text().size();
    char const* first = begin;
    try {
        x3::phrase_parse(first, end, x3::with<syntax::text_begin>(begin)[syntax::whole_program],
                         syntax::blank, tree);
    } catch (x3::expectation_failure<char const*> const& failure) {
        fail_syntax(whole, static_cast<std::size_t>(failure.where() - begin), failure.which());
    }
    return tree;
}

/// A name of the program for a name as it was written.
inline name make_name(program& whole, syntax::written_name&& written) {
    segment const& first = written.segments.front();
    bool const plain = written.segments.size() == 1 && first.kind == segment::kind_type::text;
    name made{name::kind_type::nothing, false, 0, written.where};
    if (!plain)
        made = whole.make_pattern(std::move(written.segments), written.where);
    else if (written.quoted || first.text != "_")
        made = whole.make_text(first.text, written.where);
    made.transposed = written.transposed;
    return made;
}

} // namespace detail

RESHARD_DECL program parse(std::string_view text, std::string_view file) {
    if (text.size() > 0xfffffffeu)
        fail(errc::limit_exceeded, "a program of " + std::to_string(text.size()) +
                                       " bytes is larger than the limit of 4 GiB");
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark))
        text.remove_prefix(byte_order_mark.size());
    program whole(text, file);
    std::vector<name> left, right;
    for (syntax::written_statement& written : detail::parse_tree(whole)) {
        left.clear();
        right.clear();
        for (syntax::written_name& one : written.left)
            left.push_back(detail::make_name(whole, std::move(one)));
        for (syntax::written_name& one : written.right)
            right.push_back(detail::make_name(whole, std::move(one)));
        statement like;
        like.where = written.where;
        like.attributes = whole.make_attributes(std::move(written.attributes));
        like.origin = whole.make_origin({{}, 0, written.where});
        whole.add(whole.make_statement(left, right, like));
    }
    return whole;
}

} // namespace reshard::aoa

#endif
