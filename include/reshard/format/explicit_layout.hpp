// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_EXPLICIT_LAYOUT_HPP
#define RESHARD_FORMAT_EXPLICIT_LAYOUT_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/json_cursor.hpp>
#include <reshard/format/layout_table.hpp>

#include <string>
#include <string_view>
#include <vector>

/// \file
/// The explicit form of a layout file: every shard of every tensor, by rank, offset and shape.

namespace reshard::detail {

/// The number of ranks: what the file says, or one more than the largest.
RESHARD_DECL holder_t rank_count(json_cursor const& root, std::vector<layout_row> const& rows);

/// The layout in the explicit form.
///
/// \throws error with errc::bad_layout, or errc::limit_exceeded for more than 2^22 ranks, that
///         names the file, the place in it, key, axis and both numbers
RESHARD_DECL layout_table explicit_layout(json_cursor const& root, std::string_view file);

/// The text of a layout file in the explicit form, a line a shard.
///
/// \post `parse_layout_file` gives the same table, but for file and notes
RESHARD_DECL std::string to_json(layout_table const& table);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/explicit_layout.ipp>
#endif

#endif
