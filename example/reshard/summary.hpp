// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_SUMMARY_HPP
#define RESHARD_TOOL_SUMMARY_HPP

#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/layout/layout.hpp>

#include <string>
#include <string_view>

/// \file
/// Layouts for people to read.

namespace tool {

/// A line a row, columns aligned, the first row in bold.
std::string table(reshard::vector<reshard::vector<std::string>> const& rows);

/// A line for each holder, with its share of the elements.
std::string holder_table(reshard::layout const& layout, reshard::vector<std::string> const& names);

/// What there is: a line for all tensors that differ only in the numbers in their keys, or a line
/// each. Of a layout it also says which tensors are not whole.
std::string tensor_table(reshard::layout const& layout, bool show_all);
std::string tensor_table(reshard::catalog const& entries, bool show_all);

/// `model.layers.12.mlp` as `model.layers.*.mlp`.
std::string without_numbers(std::string_view key);

/// `rank 0`, `rank 1`, ...
reshard::vector<std::string> rank_names(reshard::holder_t count);

/// The names of a checkpoint's files in their directory.
reshard::vector<std::string> file_names(reshard::checkpoint_metadata const& checkpoint);

} // namespace tool

#endif
