// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_LIST_TEXT_HPP
#define RESHARD_AOA_LIST_TEXT_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/slice.hpp>

#include <optional>
#include <vector>

/// \file
/// The list in the text of an attribute, as in `permute="[1, 0]"` and `slice="[0:128, :]"`.

namespace reshard::aoa::detail {

/// The integers of `[1, 0]`; blanks do not count.
///
/// \throws     statement_error with errc::syntax for anything else
/// \par Source there any text is evaluated, and `1, 0` or `(1, 0)` change the shape and move
///             nothing
RESHARD_DECL std::vector<index_t> parse_list(attribute const& of);

/// The entries of `[128, *]`: integers, and nothing for `*`.
///
/// \throws statement_error with errc::syntax for anything else
RESHARD_DECL std::vector<std::optional<index_t>> parse_extents(attribute const& of);

/// The ranges of `[0:128, :, 4:]`.
///
/// \throws statement_error with errc::syntax for anything else
RESHARD_DECL std::vector<axis_range> parse_ranges(attribute const& of);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/list_text.ipp>
#endif

#endif
