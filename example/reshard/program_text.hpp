// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PROGRAM_TEXT_HPP
#define RESHARD_TOOL_PROGRAM_TEXT_HPP

#include "job.hpp"

#include <reshard/layout/catalog.hpp>

#include <string>
#include <string_view>

/// \file
/// The text of a job's program, with its gaps filled in.
///
/// A text that begins like the tool's texts (`#! program`) may have gaps:
///
/// - `{num_hidden_layers}`, `{text_config.hidden_size}`: a value, of `--set` or of the
///   `config.json` beside the source; a name before a dot names an object.
/// - `{switch NAME: OLD -> NEW}`: in all lines below, OLD is NEW if `--set NAME=1` says so, or if
///   a key of the source has NEW in it and `--set NAME=0` is not given. A line `#! switch NAME:
///   description` lists it.
/// - `{if KEY, KEY}` up to `{end}`: lines for sources that have one of these tensors.
/// - `{each NAME of KEY, KEY without KEY}` up to `{end}`: lines for each number that is in the
///   position of `{NAME}` in one of these keys, and in none of the keys after `without`.
/// - `{needs KEY -> KEY}`: a source that does not have the first tensor is refused; run backwards,
///   one that does not have the second. `KEY[1] = KEY[0]` in place of `KEY` compares two extents.
///   Then a tensor that no statement names is refused as well, except:
/// - `{keeps PATTERN, PATTERN}`: tensors that stay unchanged.
/// - `{stack}`, `{unstack}`: the statements of stacked_tensors.hpp.

namespace tool {

/// The program that a job runs for a source, and which values `config.json` gave it, as a note.
///
/// \throws error with errc::usage for a value that is not known, or not used
program_source read_program_text(job_files const& files, reshard::catalog const& source);

/// The text of a program as it is stored, with its gaps.
std::string stored_program(std::string const& program);

/// Whether the program is run in the direction in which it is not written.
bool runs_backwards(job_files const& files);

/// Checks `NAME=VALUE`; returns the error, if any.
std::string complaint_about_setting(std::string const& text);

} // namespace tool

#endif
