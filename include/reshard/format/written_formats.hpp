// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_WRITTEN_FORMATS_HPP
#define RESHARD_FORMAT_WRITTEN_FORMATS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

/// \file
/// The formats in which checkpoints can be written.

namespace reshard::detail {

/// A format that can be written, with the name that an opened checkpoint uses for it.
struct written_format {
    std::string_view name;
    std::string_view ending;       ///< the ending of a single file; empty for a directory
    bool has_objects = false;      ///< it can hold values that are not tensors
    bool has_global_order = false; ///< as `layout::has_global_order`
    /// Null for safetensors formats, whose planners have more options.
    checkpoint_plan (*plan)(layout const& target, file_choices const& choices) = nullptr;
    bool is_whole = false; ///< a directory that only has whole tensors

    /// Other endings by which a single file is recognised when it is read.
    std::array<std::string_view, 3> other_endings = {};

    bool is_file() const { return !ending.empty(); }
    /// Whether a single file of that name is recognised when it is read.
    bool is_file_name(std::string_view path) const {
        return (is_file() && path.ends_with(ending)) ||
               std::ranges::any_of(other_endings, [&](std::string_view other) {
                   return !other.empty() && path.ends_with(other);
               });
    }
    /// Whether a layout of shards can be written.
    bool has_shards() const { return !is_file() && !is_whole; }
};

/// \throws error with errc::usage for an unknown name; it lists all names
RESHARD_DECL written_format const& written_format_of(std::string_view name);

/// True for the name of another library's format, whose files have no record of ours. False for an
/// empty name.
///
/// \throws error as `written_format_of`
RESHARD_DECL bool is_other_format(std::string_view name);

/// The format of files with that name, or null.
RESHARD_DECL written_format const* format_of_file(std::string_view path);

/// The names of all formats, sorted.
RESHARD_DECL vector<std::string> names_of_written_formats();

/// Refuses a name that the format's library, or we, could not read back from its files.
///
/// \throws error with errc::unsupported; it names the key, the format, the limit and a workaround
RESHARD_DECL void check_name_limits(std::string_view format, std::string_view key);

/// The same for a tensor: checks its name, its data type and its extents.
RESHARD_DECL void check_limits(std::string_view format, std::string_view key, data_type dtype,
                               index_vector const& shape);

/// The same for all tensors of a layout, and for the shards that are written.
RESHARD_DECL void check_limits(std::string_view format, layout const& target);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/format_limits.ipp>
#include <reshard/format/impl/written_formats.ipp>
#endif

#endif
