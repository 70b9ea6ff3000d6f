// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FOLD_FOLDED_LINE_HPP
#define RESHARD_TOOL_FOLD_FOLDED_LINE_HPP

#include <reshard/core/vector.hpp>

#include <string>

/// \file
/// Statements as texts, which are easier to rewrite than a `program`.

namespace tool {

using name_list = reshard::vector<std::string>;

/// A statement. `x^T` counts as a separate name, and `_` as a name of no tensor.
struct folded_line {
    name_list left;
    name_list right;
    std::string attributes; ///< for example `, axis=0`

    bool operator==(folded_line const&) const = default;
};

/// Parses the statements in a program's lines.
///
/// \throws error as `aoa::parse`
reshard::vector<folded_line> lines_of(name_list const& lines);

/// Prints statements, without a line break at the end.
name_list texts_of(reshard::vector<folded_line> const& lines);

} // namespace tool

#endif
