// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "conversion.hpp"
#include "fused_names.hpp"
#include "job_options.hpp"
#include "report.hpp"

#include <reshard/format/written_formats.hpp>
#include <reshard/storage/convert.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>

namespace tool {

namespace {

using namespace reshard;

struct merge_command {
    std::string source;
    detail::safetensors_options reading = {};
    std::string file;
    bool force = false;
    bool no_verify = false;
    bool no_objects = false;
    bool cut_fused = false;
    progress_when progress = progress_when::on_terminal;
};

convert_report run_merge(processes const& world, merge_command const& options,
                         checkpoint const& source) {
    progress_bar bar(world.rank() == 0, options.progress);
    convert_options const convert_options{
        .writing = {.replace = options.force, .single_file = true},
        .progress = std::ref(bar),
        .verify = !options.no_verify,
        .objects = !options.no_objects,
        .cut_fused = options.cut_fused};
    return world.mpi() ? convert(*world.mpi(), source, options.file, convert_options)
                       : convert(solo(), source, options.file, convert_options);
}

/// Refuses a file name of another format.
void check_name(merge_command const& options) {
    if (options.file.ends_with(".safetensors"))
        return;
    std::string const writes =
        ": merge writes one safetensors file, whose name must end with .safetensors; ";
    auto const* const format = detail::format_of_file(options.file);
    fail(errc::usage, options.file, writes,
         format ? "reshard convert " + options.source + " " + options.file + " writes " +
                      std::string(format->name)
                : "add this ending, or write another format with reshard convert");
}

/// Notes tensors that may be fused part by part, and that are written in the order of the parts.
void note_parts(merge_command const& options, checkpoint const& source) {
    job_files files;
    files.source = options.source;
    files.reading = options.reading;
    std::string const text =
        text_of_parts(identity_mapping(catalog_of(source)), source.files_layout(), nullptr, files);
    if (!text.empty())
        note(options.source + ": " + text);
}

outcome merge(processes const& world, merge_command const& options, bool as_json) {
    stopwatch const watch;
    check_name(options);
    checkpoint const source = open_checkpoint(world, options.source, {.format = options.reading});
    say_warnings(world, source);
    if (options.no_objects)
        agree_on(world, [&] { say_lost_tensors(source, world.rank() == 0); });
    agree_on(world, [&] {
        say_lost_texts(source.metadata(), identity_mapping(catalog_of(source)), "",
                       world.rank() == 0);
    });
    check_outside(world, options.file, options.source);
    if (!options.cut_fused)
        agree_on(world, [&] {
            if (world.rank() == 0)
                note_parts(options, source);
        });
    convert_report const report = with_force_hint(
        options.file, options.force, [&] { return run_merge(world, options, source); });
    return converted(world, report, watch.seconds(),
                     headline_of(options.file, options.source, report.keys), as_json);
}

} // namespace

void add_merge(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<merge_command>();
    CLI::App* const command =
        add_command(app, chosen, "merge", "Write the whole tensors of a checkpoint as one file",
                    "  reshard merge sharded whole.safetensors\n"
                    "  mpiexec -n 4 reshard merge run/@latest all.safetensors --force --json");
    add_path(*command, chosen, "PATH", options->source, "A checkpoint")->required();
    add_written(*command, "FILE", options->file,
                "The file to write; its name must end with .safetensors");
    add_compatible(*command, options->reading);
    add_source_layout(*command, options->reading, "PATH");
    add_force(*command, options->force);
    command->add_flag("--no-verify", options->no_verify,
                      "Do not compare the data with the digests saved with it");
    command->add_flag("--no-objects", options->no_objects,
                      "Omit values that are not tensors, which this one file cannot store");
    command->add_flag("--cut-fused", options->cut_fused,
                      "Keep fused tensors interleaved, instead of writing the tensors in them "
                      "one after the other");
    add_progress(*command, options->progress);
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return merge(world, *options, chosen.json);
        };
    });
}

} // namespace tool
