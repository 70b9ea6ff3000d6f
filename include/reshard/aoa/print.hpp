// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_PRINT_HPP
#define RESHARD_AOA_PRINT_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/catalog.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

/// \file
/// Prints programs: `parse(print(p)) == p` except for the names of temporaries. `format` keeps
/// comments and aligns arrows.

namespace reshard::aoa {

/// The statements as lines of text.
RESHARD_DECL vector<std::string>
print_lines(program const& whole_program,
            std::function<bool(std::string_view)> const& is_taken = {});

/// The program as text, with one statement on each line.
///
/// \post `parse(print(p)) == p` if `p` has no temporaries; otherwise equal except for their names
RESHARD_DECL std::string print(program const& whole_program,
                               std::function<bool(std::string_view)> const& is_taken = {});

/// Prints a program that will be parsed again with these tensors. No temporary gets the name of
/// such a tensor, because the program would then make the tensor.
RESHARD_DECL std::string print(program const& whole_program, catalog const& source,
                               catalog const& target);

namespace detail {

/// The comments in a statement and in the lines after it. Each is the text from `#` on, without
/// trailing blanks.
struct statement_comments {
    vector<std::string> inside; ///< between the lines of the statement
    std::string behind;         ///< at the end of the statement's last line; may be empty
    vector<std::string> below;  ///< on separate lines; an empty text for empty lines

    bool operator==(statement_comments const&) const = default;
};

/// The end of the statement at the beginning of a text. Adds the statement's comments to `inside`.
RESHARD_DECL std::size_t end_of_statement(std::string_view text, vector<std::string>& inside);

/// The comments on separate lines. Several empty lines become one.
RESHARD_DECL vector<std::string> comment_lines(std::string_view text);

/// The comments of a text that begins with a statement and ends at the next one.
RESHARD_DECL statement_comments comments_of(std::string_view text);

/// A statement as words that may be on separate lines.
struct spread_statement {
    vector<std::string> left, right; ///< names with their commas; the last of `left` has the arrow
    statement_comments comments;

    static std::string joined(vector<std::string> const& pieces);

    /// For example `a, b`, without the arrow.
    std::string before_arrow() const;

    std::size_t width() const;

    /// Whether the statement fits on one line with its arrow aligned to others.
    bool can_align() const;
};

RESHARD_DECL spread_statement spread(program const& whole_program, statement const& statement);

/// A statement as text. Its arrow is in column `arrow` if it fits there.
RESHARD_DECL std::string formatted(spread_statement const& statement, std::size_t arrow);

/// The statements of a program with their comments; `above` gets the comments before the first
/// statement.
RESHARD_DECL vector<spread_statement> spread(program const& whole_program,
                                             vector<std::string>& above);

} // namespace detail

/// Formats a parsed program: one statement on each line, aligned arrows in consecutive statements,
/// long statements broken after commas and the arrow, and no consecutive empty lines.
///
/// Comments keep their positions; comments inside a statement move above it.
///
/// \pre  `written` is a result of `parse`, and has not been expanded
/// \post `parse(format(p)) == p`, and formatting again changes nothing
RESHARD_DECL std::string format(program const& written);

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/format.ipp>
#include <reshard/aoa/impl/print.ipp>
#endif

#endif
