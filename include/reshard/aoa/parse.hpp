// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_PARSE_HPP
#define RESHARD_AOA_PARSE_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// \file
/// Parses the text of a program.

namespace reshard::aoa::detail {

/// The text at a syntax error, in the form that messages show.
RESHARD_DECL std::string found(std::string_view remainder);

/// Advice about a syntax error; empty if there is none.
RESHARD_DECL std::string advice(std::string_view text, std::size_t offset,
                                std::string_view expected);

/// Whether a text is an `aoa_config` rather than statements: after comments, it has an object or a
/// list whose first element is in quotes.
RESHARD_DECL bool is_config(std::string_view text);

} // namespace reshard::aoa::detail

namespace reshard::aoa {

/// Parses a program. `file` is its name in messages.
///
/// Each line is a statement; `#` begins a comment. A line that ends in `,` or `->`, or inside
/// brackets, continues on the next line. A byte order mark before the text is ignored. Names and
/// `->` directly after the quoted value of an attribute begin another statement; `expand` warns of
/// it.
///
/// A text may also be the JSON of an `aoa_config`: `{"aoa_statements": ["a -> b"]}`, an object with
/// this object as its member `aoa_config`, or only the list. The program's text then consists of
/// the statements, each at its line and column; `\v` separates statements on the same line.
///
/// \throws     error with errc::syntax, with file, line, column, the expected words and the line
///             itself
/// \throws     error with errc::limit_exceeded if the text has 4 GiB or more
/// \par Source the grammar of AOA (PaddlePaddle flex_checkpoint), sections 2.1 and 2.2 of its
///             description; there two statements may share a line, here only in the form that
///             results when Python joins texts. Comments, continued lines, quoted names and
///             negative numbers are extensions of this library
RESHARD_DECL program parse(std::string_view text, std::string_view file = {});

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/parse.ipp>
#endif

#endif
