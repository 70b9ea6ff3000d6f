// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"

#include <reshard/group/agree.hpp>
#include <reshard/storage/found_saves.hpp>

#include <CLI/CLI.hpp>

#include <filesystem>

namespace tool {

CLI::App* add_command(CLI::App& app, invocation& chosen, std::string const& name,
                      std::string const& description, std::string const& examples) {
    CLI::App* const command = app.add_subcommand(name, description);
    command->add_flag("--json", chosen.json, "Print one JSON document on standard output");
    command->footer("Examples:\n" + examples);
    return command;
}

namespace {

bool is_latest(std::filesystem::path const& path) { return path.filename() == "@latest"; }

} // namespace

void resolve_latest(processes const& world, std::string& path) {
    if (!is_latest(path))
        return;
    std::filesystem::path directory = std::filesystem::path(path).parent_path();
    if (directory.empty())
        directory = ".";
    auto const newest = reshard::detail::newest_in(world, directory);
    path = (directory / newest.name).string();
    if (world.rank() != 0)
        return;
    for (std::string const& text : newest.passed_over)
        note(text);
    note("the newest complete checkpoint is " + path);
}

CLI::Option* add_path(CLI::App& command, invocation& chosen, std::string const& name,
                      std::string& path, std::string const& what) {
    chosen.checkpoints.push_back(&path);
    return command.add_option(name, path, what);
}

CLI::Option* add_written(CLI::App& command, std::string const& name, std::string& path,
                         std::string const& what) {
    auto const complaint = [](std::string const& text) {
        return is_latest(text) ? "'" + text + "' is for reading; give the new one a name"
                               : std::string();
    };
    return command.add_option(name, path, what)->required()->check(complaint, "");
}

outcome on_first(processes const& world, std::function<outcome()> const& work) {
    outcome result;
    reshard::agree_on(world, [&] {
        if (world.rank() == 0)
            result = work();
    });
    result.status = std::stoi(world.all_gather(std::to_string(result.status)).front());
    return result;
}

} // namespace tool
