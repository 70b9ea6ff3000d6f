// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_COMMENTS_HPP
#define RESHARD_AOA_COMMENTS_HPP

#include <reshard/core/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The comments of a program's text, which its statements do not have.

namespace reshard::aoa::detail {

/// The comments of one statement and of the lines behind it, each from `#` on, without blanks at
/// its end.
struct statement_comments {
    std::vector<std::string> inside; ///< between the lines of the statement
    std::string behind;              ///< in the last line of the statement, or empty
    std::vector<std::string> below;  ///< in lines of their own; an empty text for empty lines

    bool operator==(statement_comments const&) const = default;
};

/// Where a statement ends that a text begins with; its comments are added to `inside`.
RESHARD_DECL std::size_t end_of_statement(std::string_view text, std::vector<std::string>& inside);

/// The comments that stand in lines of their own; several empty lines are one.
RESHARD_DECL std::vector<std::string> comment_lines(std::string_view text);

/// The comments of a text that begins with a statement and ends where the next one begins.
RESHARD_DECL statement_comments comments_of(std::string_view text);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/comments.ipp>
#endif

#endif
