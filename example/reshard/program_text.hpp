// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PROGRAM_TEXT_HPP
#define RESHARD_TOOL_PROGRAM_TEXT_HPP

#include "job.hpp"

#include <reshard/layout/catalog.hpp>

#include <string>
#include <string_view>

/// \file
/// Reads the text of a job's program, and fills its gaps.
///
/// A text that begins like the tool's own programs (`#! program`) may have gaps:
///
/// - `{num_hidden_layers}`, `{text_config.hidden_size}`: a value from `--set` or from the
///   `config.json` beside the source. A name before a dot is an object's. `{a*b}`,
///   `{a/b}` and `{a+b}` are products, quotients and sums of such values and of numbers.
/// - `{switch NAME: OLD -> NEW}`: replaces OLD by NEW in all lines below, if `--set NAME=1` is
///   given, or if a key of the source contains NEW and `--set NAME=0` is not given. A line
///   `#! switch NAME: description` documents it.
/// - `{if KEY, KEY}` up to `{end}`: lines for sources that have one of these tensors.
/// - `{each NAME of KEY, KEY without KEY}` up to `{end}`: repeats the lines for each number at the
///   position of `{NAME}` in one of these keys, but in none of the keys after `without`.
/// - `{needs KEY -> KEY}`: refuses a source without the first tensor or, if the program runs
///   backwards, without the second. `KEY[1] = KEY[0]` in place of `KEY` compares two extents.
///   Then tensors that no statement names are refused as well, except:
/// - `{keeps PATTERN, PATTERN}`: tensors that stay unchanged.
/// - `{refuses TEXT, TEXT}`: refuses a source for which a statement has one of these texts.
/// - `{stack}`, `{unstack}`, `{dequantize}`, `{quantize SCHEME}`: the statements of
///   stacked_tensors.hpp.

namespace tool {

/// The program that a job runs for a source, with a note on the values from `config.json`.
///
/// \throws error with errc::usage for a value that is unknown or unused
program_source read_program_text(job_files const& files, reshard::catalog const& source);

/// The stored text of a program, with its gaps.
std::string stored_program(std::string const& program);

/// Whether the program runs in the direction opposite to the one that it is written in.
bool runs_backwards(job_files const& files);

/// Checks `NAME=VALUE`; returns the error, if any.
std::string complaint_about_setting(std::string const& text);

} // namespace tool

#endif
