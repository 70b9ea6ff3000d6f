// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_GIVEN_BOX_HPP
#define RESHARD_TOOL_GIVEN_BOX_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/slice.hpp>

#include <optional>
#include <string>

/// \file
/// Reads a box from the command line.

namespace tool {

/// The ranges of `0:2,3:4` or, in the form of a slice, `[0:2, :]`. The empty text is the box of a
/// scalar.
///
/// \throws error with errc::usage for any other text
reshard::vector<reshard::detail::axis_range> parse_box(std::string const& text);

/// The box with these ranges, in a tensor with this shape. The shape may be unknown.
reshard::box box_in(reshard::vector<reshard::detail::axis_range> const& ranges,
                    std::optional<reshard::index_vector> const& shape);

} // namespace tool

#endif
