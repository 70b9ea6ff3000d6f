// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"

#include <reshard/core/digest.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/version.hpp>

#include <CLI/CLI.hpp>

#include <sstream>

namespace tool {

namespace {

void add_commands(CLI::App& app, invocation& chosen) {
    app.require_subcommand(1);
    app.set_version_flag("--version", "reshard " + std::to_string(RESHARD_VERSION_MAJOR) + "." +
                                          std::to_string(RESHARD_VERSION_MINOR) + "." +
                                          std::to_string(RESHARD_VERSION_PATCH));
    app.footer(
        "Each command has its own --help. To use several processes: mpiexec -n P reshard ...\n"
        "Commands that read a checkpoint accept DIR/@latest: the newest complete one in DIR.\n"
        "Results go to standard output; errors, warnings, notes and progress to standard error.\n"
        "Ranks are counted from 0.\n"
        "Exit status: 0 for success; 1 if the answer is no; 2 for wrong usage; 3 for refused\n"
        "input; 4 if the system could not read or write; 141 if the reader of the output has\n"
        "closed it.");
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
    add_programs(app, chosen);
    add_verify(app, chosen);
    add_retain(app, chosen);
    add_measure_network(app, chosen);
}

/// Refuses a word that is neither a command nor an option, and lists all commands.
void check_command(CLI::App const& app, int argc, char** argv) {
    std::string const word = argc > 1 ? argv[1] : "";
    std::string known_names;
    reshard::detail::nearest_text nearest(word, false);
    for (CLI::App const* const command : app.get_subcommands({})) {
        if (command->get_name() == word || word.starts_with("-"))
            return;
        known_names += (known_names.empty() ? "" : ", ") + command->get_name();
        nearest.look_at(command->get_name());
    }
    reshard::fail(reshard::errc::usage,
                  "reshard: " +
                      (word.empty() ? "no command is given"
                                    : "unknown command '" + word + "'" + nearest.question()) +
                      "; the commands are " + known_names + "; see reshard --help");
}

/// The first word of the command line that looks like an option but is unknown, with the nearest
/// option. Empty if all options are known.
std::string unknown_option(CLI::App const& command) {
    for (std::string const& word : command.remaining()) {
        if (!word.starts_with("-"))
            continue;
        std::string const name = word.substr(0, word.find('='));
        reshard::detail::nearest_text nearest(name, false);
        for (CLI::Option const* const option : command.get_options())
            for (std::string const& get_lname : option->get_lnames())
                nearest.look_at("--" + get_lname);
        return "unknown option '" + name + "'" + nearest.question();
    }
    return {};
}

/// Reads the command line. A request for help becomes a command that prints it.
///
/// \throws error with errc::usage for an invalid command line
void parse(CLI::App& app, invocation& chosen, int argc, char** argv) {
    check_command(app, argc, argv);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& stop) {
        std::ostringstream text, problem;
        if (app.exit(stop, text, problem) != 0) {
            auto const commands = app.get_subcommands();
            CLI::App const& command = commands.empty() ? app : *commands.front();
            std::string const name = commands.empty() ? "reshard" : "reshard " + command.get_name();
            std::string const unknown = unknown_option(command);
            reshard::fail(reshard::errc::usage, name + ": " +
                                                    (unknown.empty() ? stop.what() : unknown) +
                                                    "; see " + name + " --help");
        }
        chosen.run = [help = text.str()](processes const&) { return outcome{help, done}; };
    }
}

/// A number that differs between processes with different command lines.
std::uint64_t digest_of(int argc, char** argv) {
    reshard::detail::hasher digest;
    for (int i = 1; i < argc; ++i)
        digest.add(std::string_view(argv[i]));
    return digest.value();
}

} // namespace

reshard::vector<option_text> options_of(std::string const& command) {
    CLI::App app;
    invocation none;
    add_commands(app, none);
    reshard::vector<option_text> option_texts;
    for (CLI::Option const* const option : app.get_subcommand(command)->get_options())
        for (std::string const& name : option->get_lnames())
            if (name != "help" && name != "json")
                option_texts.push_back(
                    {name, option->get_items_expected_max() == 0, option->get_description()});
    return option_texts;
}

outcome run_command(processes const& world, int argc, char** argv) {
    CLI::App app("Describe, check, transform and redistribute checkpoints of sharded tensors.",
                 "reshard");
    invocation chosen;
    add_commands(app, chosen);
    reshard::detail::agree_to_run(
        world, argc > 1 ? argv[1] : "reshard", digest_of(argc, argv),
        reshard::detail::attempt([&] { parse(app, chosen, argc, argv); }));
    for (std::string* const path : chosen.checkpoints)
        resolve_latest(world, *path);
    return chosen.run(world);
}

} // namespace tool
