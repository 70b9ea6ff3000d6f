// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"

#include <reshard/core/digest.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/version.hpp>

#include <CLI/CLI.hpp>

#include <csignal>
#include <iostream>
#include <sstream>

/// \file
/// The command-line tool: describes, checks, transforms and redistributes checkpoints.

namespace {

using namespace tool;

void add_commands(CLI::App& app, invocation& chosen) {
    app.require_subcommand(1);
    app.set_version_flag("--version", "reshard " + std::to_string(RESHARD_VERSION_MAJOR) + "." +
                                          std::to_string(RESHARD_VERSION_MINOR) + "." +
                                          std::to_string(RESHARD_VERSION_PATCH));
    app.footer(
        "Each command has its own --help. Several processes: mpiexec -n P reshard ...\n"
        "Where a checkpoint is read, DIR/@latest is the newest complete one in the directory DIR.\n"
        "Exit status: 0; 1 if the answer is no; 2 for wrong usage; 3 for refused input; 4 if the\n"
        "system could not read or write.");
    add_inspect(app, chosen);
    add_synthesize(app, chosen);
    add_expand(app, chosen);
    add_check(app, chosen);
    add_reverse_command(app, chosen);
    add_explain(app, chosen);
    add_plan(app, chosen);
    add_convert(app, chosen);
    add_diff(app, chosen);
    add_merge(app, chosen);
    add_format(app, chosen);
    add_verify(app, chosen);
    add_retain(app, chosen);
}

/// Refuses what is neither a command nor an option, listing all commands.
void check_command(CLI::App const& app, int argc, char** argv) {
    std::string const word = argc > 1 ? argv[1] : "";
    std::string known;
    reshard::detail::nearest_text nearest(word, false);
    for (CLI::App const* const command : app.get_subcommands({})) {
        if (command->get_name() == word || word.starts_with("-"))
            return;
        known += (known.empty() ? "" : ", ") + command->get_name();
        nearest.look_at(command->get_name());
    }
    reshard::fail(reshard::errc::usage,
                  "reshard: " +
                      (word.empty() ? "no command is given"
                                    : "unknown command '" + word + "'" + nearest.question()) +
                      "; the commands are " + known + "; see reshard --help");
}

/// Reads the command line; what asks for help becomes a command that prints it.
///
/// \throws error with errc::usage for a command line that cannot be understood
void parse(CLI::App& app, invocation& chosen, int argc, char** argv) {
    check_command(app, argc, argv);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& stop) {
        std::ostringstream text, problem;
        if (app.exit(stop, text, problem) != 0) {
            auto const commands = app.get_subcommands();
            std::string const name =
                commands.empty() ? "reshard" : "reshard " + commands.front()->get_name();
            reshard::fail(reshard::errc::usage,
                          name + ": " + stop.what() + "; see " + name + " --help");
        }
        chosen.run = [help = text.str()](processes const&) { return outcome{help, done}; };
    }
}

/// A number that differs between processes that were given different words.
std::uint64_t digest_of(int argc, char** argv) {
    reshard::detail::hasher digest;
    for (int i = 1; i < argc; ++i)
        digest.add(std::string_view(argv[i]));
    return digest.value();
}

int run(processes const& world, int argc, char** argv) {
    CLI::App app("Describe, check, transform and redistribute checkpoints of sharded tensors.",
                 "reshard");
    invocation chosen;
    add_commands(app, chosen);
    reshard::detail::agree_to_run(
        world, argc > 1 ? argv[1] : "reshard", digest_of(argc, argv),
        reshard::detail::attempt([&] { parse(app, chosen, argc, argv); }));
    for (std::string* const path : chosen.checkpoints)
        resolve_latest(world, *path);
    outcome const result = chosen.run(world);
    reshard::agree_on(world, [&] {
        std::string const text = result.is_program ? result.text : without_controls(result.text);
        if (world.rank() == 0 && !(std::cout << text << std::flush))
            reshard::fail(reshard::errc::io, "standard output: cannot be written");
    });
    return result.status;
}

} // namespace

int main(int argc, char** argv) {
    std::signal(SIGXFSZ, SIG_IGN); // a file that grows too large is an error, as a full disk is
    std::signal(SIGPIPE, SIG_IGN);
    processes const world;
    try {
        return run(world, argc, argv);
    } catch (reshard::error const& problem) {
        if (world.rank() == 0)
            print_error(problem.what());
        world.all_gather(""); // no process exits before the message is out
        return status_of(problem.code());
    } catch (std::exception const& problem) {
        print_error(std::string("reshard: ") + problem.what());
        world.abort();
    }
}
