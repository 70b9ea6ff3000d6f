// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "json.hpp"

#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/format/text_file.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace tool {

namespace {

using namespace reshard;

struct format_options {
    std::string program;
    bool check = false;
};

outcome format(format_options const& options, bool as_json) {
    std::string const written = detail::read_text_file(options.program);
    std::string const neat = aoa::format(aoa::parse(written, options.program));
    int const status = options.check && neat != written ? no : done;
    if (as_json)
        return json_outcome({{"neat", neat == written}, {"text", json_text(neat)}}, status);
    if (!options.check)
        return {.text = neat, .is_program = true};
    return {options.program + (status == done ? ": is formatted\n" : ": would be reformatted\n"),
            status};
}

} // namespace

void add_format(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<format_options>();
    CLI::App* const command =
        add_command(app, chosen, "format", "Print a program neatly, with its comments",
                    "  reshard format fuse.aoa >neat.aoa\n"
                    "  reshard format fuse.aoa --check");
    command->add_option("PROGRAM", options->program, "A file with AOA statements")->required();
    command->add_flag("--check", options->check,
                      "Print no program; the exit status is 1 if it would change");
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return on_first(world, [&] { return format(*options, chosen.json); });
        };
    });
}

} // namespace tool
