// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_RENAMES_HPP
#define RESHARD_TOOL_RENAMES_HPP

#include "job.hpp"
#include "rename_rules.hpp"

#include <reshard/core/vector.hpp>
#include <reshard/layout/catalog.hpp>

#include <map>
#include <string>

/// \file
/// The options `--names`, `--rename` and `--cast`: programs of renames only, and additions to a
/// program.

namespace tool {

/// The name of a program of renames in a job.
inline constexpr std::string_view renames_program = "--names, --rename and --cast";

/// Whether a job's program is a program of renames.
bool has_renames(job_files const& files);

/// Whether a job has `--rename` beside a program.
bool has_renames_beside(job_files const& files);

/// The states that tensors have, by the conventions for their names.
reshard::vector<reshard::aoa::state_suffix> states_in(reshard::catalog const& tensors);

/// The keys of tensors and of the source's other values.
key_set keys_of(reshard::catalog const& tensors, job_files const& files);

/// The new names, by old names, that `--rename` gives to the source's other values.
std::map<std::string, std::string> object_renames(job_files const& files);

/// The statements for `--cast`.
struct written_casts {
    std::string text;                  ///< statements
    reshard::vector<std::string> kept; ///< keys that a pattern with `*` does not cast
};

/// The statements of `--cast` for the tensors that a program yields. Each tensor of floating point
/// gets the data type of the last pattern that matches it, or keeps its own.
///
/// \throws error with errc::unknown_key for a pattern that matches none of the tensors; with
///         errc::unsupported for elements of less than 16 bits, whose scales a cast does not apply,
///         and for a cast between floating point and complex numbers
written_casts cast_statements(job_files const& files, reshard::catalog const& yielded);

/// The statements, and a note on the matches in the tables of names.
///
/// \param wanted the keys of the target
program_source program_of_renames(job_files const& files, reshard::catalog const& source,
                                  reshard::vector<std::string> const& wanted);

/// Adds a hint to findings about missing keys if a table of names matches them.
void add_hints_of_names(reshard::vector<reshard::aoa::finding>& findings,
                        reshard::catalog const& source);

/// The error in `FROM=TO`; empty if it is valid.
std::string complaint_about_rename(std::string const& text);

/// The error in `PATTERN=DTYPE`; empty if it is valid.
std::string complaint_about_cast(std::string const& text);

/// The error in the name of a table; empty if it is valid.
std::string complaint_about_names(std::string const& name);

} // namespace tool

#endif
