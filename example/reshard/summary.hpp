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
/// Prints layouts for people.

namespace tool {

/// A line for each row. The columns are aligned, and the first row is bold.
std::string table(reshard::vector<reshard::vector<std::string>> const& rows);

/// A line for each holder, with its share of the elements.
std::string holder_table(reshard::layout const& layout, reshard::vector<std::string> const& names);

/// A line for each group of tensors whose keys differ only in numbers, or for each tensor. For a
/// layout it also shows which tensors have missing elements.
std::string tensor_table(reshard::layout const& layout, bool show_all);
std::string tensor_table(reshard::catalog const& entries, bool show_all);

/// For example `model.layers.*.mlp` for `model.layers.12.mlp`.
std::string without_numbers(std::string_view key);

/// `rank 0`, `rank 1`, ...
reshard::vector<std::string> rank_names(reshard::holder_t count);

/// The names of a checkpoint's files, relative to their directory.
reshard::vector<std::string> file_names(reshard::checkpoint_metadata const& checkpoint);

} // namespace tool

#endif
