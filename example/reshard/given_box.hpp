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
/// A box on the command line.

namespace tool {

/// `0:2,3:4` or, as a slice has it, `[0:2, :]`; the empty text is the box of a scalar.
///
/// \throws error with errc::usage for any other text
reshard::vector<reshard::detail::axis_range> parse_box(std::string const& text);

/// The box of those ranges in a tensor of that shape, or of one that has not been found.
reshard::box box_in(reshard::vector<reshard::detail::axis_range> const& ranges,
                    std::optional<reshard::index_vector> const& shape);

} // namespace tool

#endif
