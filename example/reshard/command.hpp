// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_COMMAND_HPP
#define RESHARD_TOOL_COMMAND_HPP

#include "processes.hpp"
#include "report.hpp"

#include <functional>
#include <string>

namespace CLI {
class App;
}

/// \file
/// What the commands have in common. Each is a file of its own, and adds itself to the command
/// line.

namespace tool {

/// What a command yields: a text for standard output, and the exit status.
struct outcome {
    std::string text;
    int status = done;
    bool is_program = false; ///< AOA text, which is printed as it is
};

/// The command that was chosen, ready to run.
///
/// `run` is called on every process; it throws an error on all of them alike, or on none.
struct invocation {
    bool json = false;
    std::function<outcome(processes const&)> run;
};

/// Adds a command with `--json` and its examples below `--help`.
CLI::App* add_command(CLI::App& app, invocation& chosen, std::string const& name,
                      std::string const& description, std::string const& examples);

/// Runs work that reads files on the first process alone; all of them have its outcome or its
/// error.
outcome on_first(processes const& world, std::function<outcome()> const& work);

void add_inspect(CLI::App& app, invocation& chosen);
void add_synthesize(CLI::App& app, invocation& chosen);
void add_expand(CLI::App& app, invocation& chosen);
void add_check(CLI::App& app, invocation& chosen);
void add_reverse_command(CLI::App& app, invocation& chosen);
void add_explain(CLI::App& app, invocation& chosen);
void add_plan(CLI::App& app, invocation& chosen);
void add_convert(CLI::App& app, invocation& chosen);
void add_diff(CLI::App& app, invocation& chosen);
void add_format(CLI::App& app, invocation& chosen);
void add_verify(CLI::App& app, invocation& chosen);

} // namespace tool

#endif
