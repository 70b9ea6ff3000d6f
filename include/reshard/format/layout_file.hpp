// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_LAYOUT_FILE_HPP
#define RESHARD_FORMAT_LAYOUT_FILE_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/layout_rules.hpp>
#include <reshard/format/layout_table.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// \file
/// Layouts as JSON files, in both of their forms.

namespace reshard::detail {

/// The number of ranks: what the file says, or one more than the largest.
RESHARD_DECL holder_t rank_count(json_cursor const& root, std::vector<layout_row> const& rows);

/// The text of a layout file in the explicit form, a line a shard.
///
/// \post `parse_layout_file` gives the same table, but for file and notes
RESHARD_DECL std::string to_json(layout_table const& table);

/// A layout file: the shards themselves, or rules that need to be told shapes.
using layout_file = std::variant<layout_table, layout_rules>;

/// True where `table_of` needs a catalog with the shapes of all keys.
RESHARD_DECL bool needs_shapes(layout_file const& file);

/// \throws error with errc::syntax for what is not JSON: `file:line:column: ...`; with
///         errc::bad_layout for what is not a layout, and errc::limit_exceeded for more than 2^22
///         ranks: the file, the place in it, key, axis and both numbers
RESHARD_DECL layout_file parse_layout_file(std::string_view text, std::string_view file);

/// \throws error with errc::missing_file or errc::io; see also `parse_layout_file`
RESHARD_DECL layout_file read_layout_file(std::filesystem::path const& path);

/// The shards of a layout file. An explicit one has its own shapes, and takes nothing of `shapes`.
///
/// \throws error with errc::bad_layout where a rule does not fit a tensor
RESHARD_DECL layout_table table_of(layout_file const& file, catalog const& shapes);

/// The shards of a layout file that stands for a source, and so must bring its own shapes.
///
/// \throws error with errc::bad_layout for the rules form
RESHARD_DECL layout_table const& explicit_table(layout_file const& file);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/layout_file.ipp>
#endif

#endif
