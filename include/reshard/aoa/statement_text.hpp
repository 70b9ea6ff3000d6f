// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_STATEMENT_TEXT_HPP
#define RESHARD_AOA_STATEMENT_TEXT_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// A statement as it has to be written.

namespace reshard::aoa {

namespace detail {

/// Whether a text can stand in a program without quotes and then means itself.
constexpr bool is_plain(std::string_view text) {
    bool const digit_first = !text.empty() && text[0] >= '0' && text[0] <= '9';
    return !text.empty() && text[0] != '.' && !digit_first && text != "_" && !is_reserved(text) &&
           std::ranges::all_of(text, is_plain_char);
}

/// The text of a key as it has to be written. One with `'` was written in `"`, where its `$` and
/// `*` meant themselves.
RESHARD_DECL std::string quoted_name(std::string_view text);

/// A name of several segments as it has to be written: in quotes where its text needs them.
RESHARD_DECL std::string pattern_text(std::vector<segment> const& segments);

/// An attribute as it has to be written, in the quotes in which it was.
RESHARD_DECL std::string attribute_text(attribute const& one);

/// `left -> right, attributes`, with names as `spell` writes them.
template <class Spell>
std::string statement_text(program const& whole, statement const& one, Spell const& spell) {
    std::string line;
    for (std::size_t i = 0; i < whole.names(one).size(); ++i) {
        line += i == one.left ? " -> " : i > 0 ? ", " : "";
        name const& each = whole.names(one)[i];
        line += spell(each) + (each.transposed ? "^T" : "");
    }
    for (attribute const& each : whole.attributes(one))
        line += ", " + attribute_text(each);
    return line;
}

/// A name as it has to be written, without `^T`.
RESHARD_DECL std::string bare_name_text(program const& whole, name const& one);

} // namespace detail

/// One statement as a line of text. Temporaries have the names that they would like to have.
RESHARD_DECL std::string print(program const& whole, statement const& one);

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/statement_text.ipp>
#endif

#endif
