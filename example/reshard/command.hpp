// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_COMMAND_HPP
#define RESHARD_TOOL_COMMAND_HPP

#include "processes.hpp"
#include "report.hpp"

#include <reshard/core/vector.hpp>
#include <reshard/format/safetensors.hpp>

#include <functional>
#include <string>

namespace CLI {
class App;
class Option;
} // namespace CLI

/// \file
/// Functions that all commands share. Each command is in a separate file, and adds itself to the
/// command line.

namespace reshard {

class checkpoint;
struct convert_report;

} // namespace reshard

namespace tool {

/// The result of a command: a text for standard output, and the exit status.
struct outcome {
    std::string text;
    int status = done;
    bool is_program = false; ///< AOA text, which is printed unchanged
};

/// The chosen command, ready to run.
///
/// Every process calls `run`. It throws an error on all processes or on none.
struct invocation {
    bool json = false;
    std::function<outcome(processes const&)> run;
    /// The arguments of all commands that may name a checkpoint. `DIR/@latest` in them becomes a
    /// path before `run`.
    reshard::vector<std::string*> checkpoints;
};

/// Runs a command line, which is the same on every process.
///
/// \par Collective every process
/// \throws error with errc::usage for an invalid command line, and any error of the command
outcome run_command(processes const& world, int argc, char** argv);

/// The whole program: runs a command line, prints its result, and returns the exit status.
int run_tool(int argc, char** argv);

/// An option of a command, for callers that do not pass options as text.
struct option_text {
    std::string name; ///< without `--`
    bool is_flag = false;
    std::string description;
};

/// The options of a command, except `--help` and `--json`.
reshard::vector<option_text> options_of(std::string const& command);

/// Replaces `DIR/@latest` by the newest complete checkpoint of `DIR`; any other path stays.
///
/// \par Collective every process
/// \throws error if no checkpoint is complete
void resolve_latest(processes const& world, std::string& path);

/// Adds `--from FORMAT`.
void add_from(CLI::App& command, std::string& format);

/// Adds `--compatible`.
void add_compatible(CLI::App& command, reshard::detail::safetensors_options& reading);

/// Adds `--source-layout`. \param directory the word for the directory in the help text
void add_source_layout(CLI::App& command, reshard::detail::safetensors_options& reading,
                       std::string const& directory);

/// Adds `--from`, `--compatible`, `--only`, `--without` and `--source-layout`.
void add_reading(CLI::App& command, reshard::detail::safetensors_options& reading);

/// Adds `--to FORMAT`. \param target the argument that is written
void add_to(CLI::App& command, std::string& format, std::string const& target);

/// The format of a target: the given format, or else the format for the ending of its name. Empty
/// if neither is known.
std::string format_to_write(std::string const& format, std::string const& target);

/// Adds a command with `--json` and its examples below `--help`.
CLI::App* add_command(CLI::App& app, invocation& chosen, std::string const& name,
                      std::string const& description, std::string const& examples);

/// Adds an argument that names, or may name, a checkpoint to read. `DIR/@latest` is allowed.
CLI::Option* add_path(CLI::App& command, invocation& chosen, std::string const& name,
                      std::string& path, std::string const& noun);

/// Adds the required argument that names the output.
CLI::Option* add_written(CLI::App& command, std::string const& name, std::string& path,
                         std::string const& noun);

/// Adds the required argument that names the output directory. No file may have this name.
CLI::Option* add_directory(CLI::App& command, std::string const& name, std::string& path,
                           std::string const& noun);

/// Refuses a target in the directory of a checkpoint, in particular of `source`: replacing that
/// checkpoint later would delete the target.
///
/// \par Collective every process
void check_outside(processes const& world, std::string const& target, std::string const& source);

/// Runs work that reads files on the first process alone. All processes get its outcome or its
/// error.
outcome on_first(processes const& world, std::function<outcome()> const& work);

/// Prints the warnings of opening a checkpoint to standard error; returns their number.
std::size_t say_warnings(processes const& world, reshard::checkpoint const& source);

/// Reports a conversion as JSON, or as text below a headline that names both checkpoints. Notes
/// list the removed and the carried files.
outcome converted(processes const& world, reshard::convert_report const& report, double seconds,
                  std::string const& headline, bool as_json);

/// For example `TARGET: 2 keys from SOURCE`.
std::string headline_of(std::string const& target, std::string const& source,
                        reshard::index_t keys);

void add_inspect(CLI::App& app, invocation& chosen);
void add_synthesize(CLI::App& app, invocation& chosen);
void add_expand(CLI::App& app, invocation& chosen);
void add_check(CLI::App& app, invocation& chosen);
void add_reverse_command(CLI::App& app, invocation& chosen);
void add_explain(CLI::App& app, invocation& chosen);
void add_plan(CLI::App& app, invocation& chosen);
void add_convert(CLI::App& app, invocation& chosen);
void add_diff(CLI::App& app, invocation& chosen);
void add_merge(CLI::App& app, invocation& chosen);
void add_programs(CLI::App& app, invocation& chosen);
void add_format(CLI::App& app, invocation& chosen);
void add_retain(CLI::App& app, invocation& chosen);
void add_verify(CLI::App& app, invocation& chosen);
void add_measure_network(CLI::App& app, invocation& chosen);

} // namespace tool

#endif
