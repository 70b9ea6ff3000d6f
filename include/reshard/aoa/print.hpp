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
/// Program to text: `parse(print(p)) == p` up to the names of temporaries. `format` keeps comments
/// and aligns arrows.

namespace reshard::aoa {

/// The statements as lines of text.
RESHARD_DECL vector<std::string>
print_lines(program const& whole_program,
            std::function<bool(std::string_view)> const& is_taken = {});

/// The program as text, one statement on each line.
///
/// \post `parse(print(p)) == p` when `p` has no temporaries, else the same up to their names
RESHARD_DECL std::string print(program const& whole_program,
                               std::function<bool(std::string_view)> const& is_taken = {});

/// The same for a program that will be parsed again with these tensors. No temporary gets the name
/// of one of them, because the program would then make that tensor.
RESHARD_DECL std::string print(program const& whole_program, catalog const& source,
                               catalog const& target);

namespace detail {

/// The comments of one statement and of the lines after it, each from `#` on, without trailing
/// blanks.
struct statement_comments {
    vector<std::string> inside; ///< between the lines of the statement
    std::string behind;         ///< at the end of the statement's last line, or empty
    vector<std::string> below;  ///< in separate lines; an empty text for empty lines

    bool operator==(statement_comments const&) const = default;
};

/// The end of the statement that a text begins with; its comments are added to `inside`.
RESHARD_DECL std::size_t end_of_statement(std::string_view text, vector<std::string>& inside);

/// The comments on separate lines; several empty lines become one.
RESHARD_DECL vector<std::string> comment_lines(std::string_view text);

/// The comments of a text that begins with a statement and ends at the next one.
RESHARD_DECL statement_comments comments_of(std::string_view text);

/// A statement in pieces that may be on separate lines.
struct spread_statement {
    vector<std::string> left, right; ///< with their commas; the last of the left has the arrow
    statement_comments comments;

    static std::string joined(vector<std::string> const& pieces);

    /// `a, b`, without the arrow.
    std::string before_arrow() const;

    std::size_t width() const;

    /// Whether the statement fits one line with its arrow below others.
    bool can_align() const;
};

RESHARD_DECL spread_statement spread(program const& whole_program, statement const& statement);

/// A statement as text, its arrow in column `arrow` if it fits there.
RESHARD_DECL std::string formatted(spread_statement const& statement, std::size_t arrow);

/// The statements of a program with their comments; `above` has those before the first one.
RESHARD_DECL vector<spread_statement> spread(program const& whole_program,
                                             vector<std::string>& above);

} // namespace detail

/// A parsed program as neat text: one statement on each line, the arrows of neighbours aligned,
/// long statements broken after commas and the arrow, several empty lines as one.
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
