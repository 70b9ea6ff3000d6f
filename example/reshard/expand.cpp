// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "findings.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "spec.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace tool {

namespace {

using namespace reshard;

outcome expand(job_files const& files, bool as_json) {
    source_spec const source = read_source(files.source, files.reading);
    job const full_job = make_job(source, files);
    if (full_job.expanded.first_error)
        fail(*full_job.expanded.first_error,
             aoa::describe(full_job.code(), *aoa::first_error_of(full_job.expanded.findings)));
    say_findings(reports_of(full_job.code(), full_job.expanded.findings, files));
    reshard::vector<std::string> const lines = statement_lines(full_job.code(), source.held);
    if (as_json)
        return json_outcome(json_statements(full_job.code(), lines));
    return {.text = joined_lines(lines), .is_program = true};
}

} // namespace

void add_expand(CLI::App& app, invocation& chosen) {
    auto const files = std::make_shared<job_files>();
    CLI::App* const command = add_command(
        app, chosen, "expand", "Print the statements of a program with its macros expanded",
        "  reshard expand --program fuse.aoa --source model\n"
        "  reshard expand --program fuse.aoa --source model --target layout.json --json");
    add_required_program(*command, *files);
    add_source(*command, chosen, *files);
    add_target(*command, chosen, *files);
    files->partial = true; // keys that the target lacks do not matter here
    command->callback([files, &chosen] {
        chosen.run = [files, &chosen](processes const& world) {
            return on_first(world, [&] { return expand(*files, chosen.json); });
        };
    });
}

} // namespace tool
