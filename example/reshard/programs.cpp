// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "program_text.hpp"
#include "spec.hpp"
#include "stock_programs.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace tool {

namespace {

using namespace reshard;

/// Describes a program.
boost::json::object json_of(stock_program const& stock_program) {
    boost::json::array switches;
    for (program_switch const& each : stock_program.switches)
        switches.push_back(
            {{"name", json_text(each.name)}, {"description", json_text(each.description)}});
    return {{"name", json_text(stock_program.name)},
            {"description", json_text(stock_program.description)},
            {"backwards", stock_program.is_backwards},
            {"switches", std::move(switches)}};
}

/// A line `  --set NAME=1: description` for each switch.
std::string switches_text(stock_program const& stock_program) {
    std::string text;
    for (program_switch const& each : stock_program.switches)
        text.append("  --set ").append(each.name).append("=1: ").append(each.description) += "\n";
    return text;
}

outcome list_programs(bool as_json) {
    boost::json::array list;
    std::size_t width = 0;
    for (stock_program const& stock_program : stock_programs()) {
        width = std::max(width, stock_program.name.size());
        list.push_back(json_of(stock_program));
    }
    if (as_json)
        return json_outcome(list);
    std::string text;
    for (stock_program const& stock_program : stock_programs()) {
        text.append(stock_program.name)
            .append(width - stock_program.name.size() + 2, ' ')
            .append(stock_program.description) += "\n";
        text += switches_text(stock_program);
    }
    return {text};
}

/// The text of a program, with its gaps or, if a source is given, filled.
outcome show_program(job_files const& files, bool as_json) {
    stock_program const& stock_program = find_stock_program(files.program.substr(1));
    std::string text(stock_program.text);
    if (!files.source.empty()) {
        program_source const filled =
            read_program_text(files, catalog_of(read_source(files.source, files.reading).held));
        text = filled.text;
        if (!filled.note.empty())
            note(filled.note);
    }
    if (as_json) {
        boost::json::object document = json_of(stock_program);
        document["text"] = json_text(text);
        return json_outcome(document);
    }
    if (stock_program.is_backwards)
        note(std::string(stock_program.name) + " is this program, run backwards (--reverse)");
    return {.text = text, .is_program = true};
}

} // namespace

void add_programs(CLI::App& app, invocation& chosen) {
    auto const files = std::make_shared<job_files>();
    auto const name = std::make_shared<std::string>();
    CLI::App* const command =
        add_command(app, chosen, "programs",
                    "List the programs for published models that come with the tool, or print one",
                    "  reshard programs\n"
                    "  reshard programs llama-hf-to-megatron --source model");
    CLI::Option* const which = command->add_option(
        "NAME", *name, "The program to print; other commands run it with --program @NAME");
    CLI::Option* const source = add_path(*command, chosen, "--source", files->source,
                                         "A checkpoint or a layout file: print the program for it");
    source->needs(which);
    add_compatible(*command, files->reading);
    add_settings(*command, *files)->needs(source);
    command->callback([files, name, &chosen] {
        files->program = "@" + *name;
        choose_reading(*files, files->program);
        chosen.run = [files, name, &chosen](processes const& world) {
            return on_first(world, [&] {
                return name->empty() ? list_programs(chosen.json)
                                     : show_program(*files, chosen.json);
            });
        };
    });
}

} // namespace tool
