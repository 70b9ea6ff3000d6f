// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "backwards.hpp"
#include "command.hpp"
#include "findings.hpp"
#include "fold/fold.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "spec.hpp"

#include <reshard/aoa/print.hpp>
#include <reshard/storage/target_files.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

/// The findings about the program and its reversal.
reshard::vector<reported> reports_of(job const& full_job, aoa::reversal const& back,
                                     job_files const& files) {
    reshard::vector<reported> reports =
        reports_of(full_job.code(), full_job.expanded.findings, files);
    for (aoa::finding const& finding : back.findings)
        reports.push_back(report_of(back.code, finding, files));
    return reports;
}

json::array json_of(reshard::vector<reported> const& reports) {
    json::array texts;
    for (reported const& report : reports)
        texts.push_back(json_text(report.text));
    return texts;
}

outcome reverse(job_files const& files, bool unfolded, bool as_json) {
    source_spec const source = read_source(files.source, files.reading);
    catalog const from = catalog_of(source.held);
    job const full_job = make_sound_job(source, files);
    catalog const* const wanted = full_job.wanted ? &*full_job.wanted : nullptr;
    aoa::reversal const back = reverse_program(full_job.code(), from, wanted, files);
    if (back.first_error)
        fail(*back.first_error, errors_text(back, files.source));
    reshard::vector<reported> const reports = reports_of(full_job, back, files);
    reshard::vector<std::string> const lines =
        aoa::print_lines(back.code, [&](std::string_view key) {
            return from.find(key) || (wanted && wanted->find(key));
        });
    reshard::vector<std::string> const shown =
        unfolded ? lines
                 : fold(lines, wanted ? *wanted : catalog_of(full_job.map()), from, files.lowering);
    if (as_json)
        return json_outcome({{"statements", json_statements(back.code, lines)},
                             {"program", json_text(joined_lines(shown))},
                             {"notes", json_of(reports)}});
    say_findings(reports);
    return {.text = joined_lines(shown), .is_program = true};
}

} // namespace

void add_reverse_command(CLI::App& app, invocation& chosen) {
    auto const files = std::make_shared<job_files>();
    auto const unfolded = std::make_shared<bool>(false);
    CLI::App* const command = add_command(
        app, chosen, "reverse", "Print the program that reverses a program",
        "  reshard reverse --program fuse.aoa --source model\n"
        "  reshard reverse --program fuse.aoa --source model --target fused --allow-rounding");
    add_required_program(*command, *files);
    add_source(*command, chosen, *files)
        ->description("The tensors that --program reads, and its reverse makes: a checkpoint or a "
                      "layout file");
    add_target(*command, chosen, *files)
        ->description("The tensors that --program makes, and its reverse reads: a layout file or a "
                      "checkpoint");
    add_reversing(*command, *files);
    command->add_flag("--unfolded", *unfolded,
                      "Print each statement of each layer, without placeholders and macros");
    files->partial = true; // the target's ranks do not matter here
    command->callback([files, unfolded, &chosen] {
        chosen.run = [files, unfolded, &chosen](processes const& world) {
            return on_first(world, [&] { return reverse(*files, *unfolded, chosen.json); });
        };
    });
}

} // namespace tool
