// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"

#include <reshard/group/agree.hpp>

#include <CLI/CLI.hpp>

namespace tool {

CLI::App* add_command(CLI::App& app, invocation& chosen, std::string const& name,
                      std::string const& description, std::string const& examples) {
    CLI::App* const command = app.add_subcommand(name, description);
    command->add_flag("--json", chosen.json, "Print one JSON document on standard output");
    command->footer("Examples:\n" + examples);
    return command;
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
