// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "conversion.hpp"
#include "findings.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "picture/byte_text.hpp"
#include "program_text.hpp"

#include <reshard/bind/program.hpp>
#include <reshard/format/written_formats.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/verify.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tool {

namespace {

using namespace reshard;

struct convert_command {
    job_files files; ///< `files.target` is the layout
    std::string target;
    std::string to;
    std::optional<index_t> shard_bytes;
    bool force = false;
    bool no_verify = false;
    bool verify = false;
    bool no_carry = false;
    bool no_objects = false;
    std::string base;
    bool replicas = false;
    bool per_rank = false;
    bool share_copies = false;
    progress_when progress = progress_when::on_terminal;
    std::map<std::string, double> numbers;
};

/// The program text for the record. Empty if no record is written, for example for a single file or
/// for other formats.
std::string program_text(job const& full_job, job_files const& files, std::string const& format) {
    bool const has_record = format.empty() || (!detail::is_other_format(format) &&
                                               !detail::written_format_of(format).is_file());
    if (files.program.empty() || !has_record)
        return {};
    std::string text = (runs_backwards(files) ? "# in reverse:\n" : "") + full_job.written.text;
    for (std::string const& rename : files.renames)
        if (has_renames_beside(files))
            text += "\n# --rename " + rename + (files.reverse ? ", after it" : ", before it");
    return text;
}

/// Refuses a file name for a target that would be a directory, or a file of another format.
void check_name(std::string const& target, std::string const& format) {
    std::string const ending = std::filesystem::path(target).extension().string();
    constexpr std::string_view others[] = {".pth",      ".bin",   ".ckpt",
                                           ".pdparams", ".pdopt", ".distcp"};
    bool const is_directory = format.empty() || !detail::written_format_of(format).is_file();
    if (is_directory && (detail::format_of_file(target) || std::ranges::count(others, ending) > 0))
        fail(errc::usage, target,
             ": is the name of a file, but a directory would be written; give another name, or "
             "one that ends with .safetensors, .pt, .gguf, .npz or .npy");
}

/// Refuses a file size for formats whose files are not cut by size.
void check_shard_size(convert_command const& options, std::string const& format) {
    bool const is_cut = format == "huggingface" || format == "unified_checkpoint" ||
                        (format.empty() && options.files.target.empty());
    if (options.shard_bytes && !is_cut)
        fail(errc::usage, "--shard-size: files of ", format.empty() ? "a layout" : format,
             " are not cut by size; only huggingface (the default without --to and --layout) "
             "and unified_checkpoint have such files");
}

/// Whether the data type of a tensor differs from the type of its sources.
bool has_casts(mapping const& map) {
    for (auto const& [key, value, added] : map.outputs())
        for (std::size_t i = 0; i < value.pieces.size(); ++i)
            if (auto const from = value.pieces.source(i);
                from != detail::zero_source && map.sources()[from].dtype != value.dtype)
                return true;
    return false;
}

/// Notes that a configuration still has the data type from before a cast.
void note_old_type(convert_report const& report) {
    if (std::ranges::count(report.carried, "config.json") > 0)
        note("config.json was copied unchanged; its data type (dtype, torch_dtype) is the one "
             "from before --cast");
}

/// The file whose header's values a new GGUF file gets. With a program that is run backwards,
/// `--like` may name other files too, which only have shapes.
std::string header_like(job_files const& files, std::string const& format) {
    bool const is_header =
        format == "gguf" && (!runs_backwards(files) || files.like.ends_with(".gguf"));
    return is_header ? files.like : std::string();
}

/// Refuses options that the written format does not support.
void check_options(convert_command const& options, std::string const& format) {
    check_name(options.target, format);
    check_shard_size(options, format);
    check_replicas(options.replicas || options.per_rank, format);
    check_shared(options.share_copies, format);
    if (!options.files.like.empty() && !runs_backwards(options.files) && format != "gguf")
        fail(errc::usage, "--like requires --reverse, or a target in GGUF, whose header gets the "
                          "values of that file");
    if (options.verify && detail::is_other_format(format))
        fail(errc::usage, "--verify compares digests, which ", format,
             " does not have; compare with reshard diff --data");
}

convert_report run_convert(processes const& world, convert_command const& options,
                           checkpoint const& source, std::size_t& warnings) {
    job full_job;
    std::string const format = format_to_write(options.to, options.target);
    agree_on(world, [&] {
        check_options(options, format);
        job_files files = options.files;
        if (!runs_backwards(files))
            files.like.clear();
        if (!options.no_objects)
            files.objects = object_keys(source.metadata());
        files.aliases = source.metadata().aliases;
        full_job = make_sound_job(source.files_layout(), files);
        note_renamed_away(full_job, catalog_of(source), files);
        check_fused_order(full_job, files, format);
        if (world.rank() == 0)
            say_notes(full_job, options.files);
        warnings += count_warnings(full_job);
        if (!options.no_carry)
            warnings +=
                say_lost_texts(source.metadata(), full_job.map(), format, world.rank() == 0);
        refuse_warnings(warnings, options.files);
    });
    if (world.rank() == 0) {
        note_fused_lost(full_job, format);
        note_torch_lacks(full_job, format);
    }
    detail::write_options const writing{.format = format,
                                        .replace = options.force,
                                        .partial = options.files.partial,
                                        .most_file_bytes = options.shard_bytes.value_or(0),
                                        .numbers = options.numbers,
                                        .program = program_text(full_job, options.files, format),
                                        .base = options.base,
                                        .replicas = options.replicas,
                                        .per_rank = options.per_rank};
    progress_bar bar(world.rank() == 0, options.progress);
    convert_options const convert_options{.program = full_job.map(),
                                          .wanted = std::move(full_job.target),
                                          .writing = writing,
                                          .progress = std::ref(bar),
                                          .verify = !options.no_verify,
                                          .carry = !options.no_carry,
                                          .objects = !options.no_objects,
                                          .header_like = header_like(options.files, format),
                                          .object_names = full_job.written.object_names,
                                          .cut_fused = options.files.cut_fused,
                                          .share_copies = options.share_copies};
    convert_report report = with_files(options.files, [&] {
        return world.mpi() ? convert(*world.mpi(), source, options.target, convert_options)
                           : convert(solo(), source, options.target, convert_options);
    });
    if (world.rank() == 0 && !options.files.casts.empty() && has_casts(full_job.map()))
        note_old_type(report);
    return report;
}

/// Reads the written files again and compares them with their digests.
void read_again(processes const& world, convert_command const& options) {
    progress_bar bar(world.rank() == 0, options.progress);
    auto const match = verify(world, open_checkpoint(world, options.target), std::ref(bar));
    if (!match.ok())
        fail(errc::corrupt_file, "read back after writing: ", detail::describe(match.bad.front()));
}

/// Says how many bytes a delta saves.
std::string reuse_text(convert_report const& report, std::string const& base) {
    std::string const text = reshard::byte_text(report.bytes);
    if (report.reused == 0)
        return "all " + text + " were written, because " + base +
               " has none of these bytes: all values differ, or the shards are cut differently";
    return reshard::byte_text(report.reused) + " of " + text + " are in " + base +
           " and were not written again";
}

outcome convert_checkpoint(processes const& world, convert_command const& options, bool as_json) {
    stopwatch const watch;
    checkpoint const source =
        open_checkpoint(world, options.files.source, {.format = options.files.reading});
    std::size_t warnings = say_warnings(world, source);
    if (std::string const text = schemes_of(source.metadata()); world.rank() == 0 && !text.empty())
        note(text);
    agree_on(world, [&] {
        warnings += say_taken_apart(source.metadata(), format_to_write(options.to, options.target),
                                    world.rank() == 0);
        if (options.no_objects)
            warnings += say_lost_tensors(source, world.rank() == 0);
    });
    check_outside(world, options.target, options.files.source);
    convert_report const report = with_force_hint(options.target, options.force, [&] {
        return run_convert(world, options, source, warnings);
    });
    if (options.verify)
        read_again(world, options);
    if (world.rank() == 0 && std::ranges::count(report.carried, "adapter_config.json") > 0)
        note("adapter_config.json was copied; PEFT looks for the tensors beside it in "
             "adapter_model.safetensors, which reshard merge writes");
    if (world.rank() == 0 && !options.base.empty())
        note(reuse_text(report, options.base));
    std::string const headline = headline_of(options.target, options.files.source, report.keys) +
                                 (warnings > 0 ? ", " + counted(warnings, "warning") : "");
    return converted(world, report, watch.seconds(), headline, as_json);
}

/// Adds the options for reading and writing.
void add_writing(CLI::App& command, invocation& chosen, convert_command& options) {
    add_force(command, options.force);
    command.add_flag("--no-verify", options.no_verify,
                     "Do not compare the data with the digests saved with it");
    command.add_flag("--verify", options.verify,
                     "Read the written data again, and compare it with its digests");
    command.add_flag("--no-carry", options.no_carry,
                     "Do not copy files without tensors that are beside the source, or texts "
                     "in the metadata of its files");
    command.add_flag("--no-objects", options.no_objects,
                     "Omit values that are not tensors, such as a learning rate, for which the "
                     "written format has no place");
    add_path(command, chosen, "--base", options.base,
             "Write a delta: only the data that differs from this checkpoint of the same "
             "layout; the delta cannot be read without it");
    add_numbers(command, options.numbers);
    add_shard_size(command, options.shard_bytes,
                   "The maximum size of a file, for a Hugging Face directory (default: 5GB) or "
                   "a Unified Checkpoint (default: no limit)");
    add_progress(command, options.progress);
}

} // namespace

std::size_t say_warnings(processes const& world, checkpoint const& source) {
    auto const& texts = source.metadata().warnings;
    return world.rank() == 0 ? say_warnings(texts) : texts.size();
}

std::string headline_of(std::string const& target, std::string const& source, index_t keys) {
    return target + ": " + counted(static_cast<std::size_t>(keys), "key") + " from " + source;
}

outcome converted(processes const& world, convert_report const& report, double seconds,
                  std::string const& headline, bool as_json) {
    if (world.rank() == 0 && !report.removed.empty())
        note("removed files that interrupted writers had left: " + listed(report.removed));
    if (world.rank() == 0 && !report.carried.empty())
        note("copied beside the tensors: " + listed(report.carried));
    if (world.rank() == 0 && !report.kept.empty())
        note("kept from the replaced checkpoint: " + listed(report.kept));
    for (std::string const& text : report.notes)
        if (world.rank() == 0)
            note(text);
    if (world.rank() == 0)
        note_aliases(report.aliases);
    if (world.rank() == 0 && report.objects > 0)
        note("carried " + counted(static_cast<std::size_t>(report.objects), "value") + " that " +
             (report.objects == 1 ? "is not a tensor" : "are not tensors"));
    if (!as_json)
        return {headline + "\n" + closing_line(report.bytes, seconds) + "\n"};
    return json_outcome({{"keys", report.keys},
                         {"bytes", report.bytes},
                         {"reused", report.reused},
                         {"seconds", seconds},
                         {"bytes_read", report.bytes_read},
                         {"bytes_moved", report.bytes_moved},
                         {"peak_extra_bytes", report.peak_extra_bytes},
                         {"aliases", json_of(report.aliases)},
                         {"kept", json_texts(report.kept)}});
}

void add_convert(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<convert_command>();
    CLI::App* const command = add_command(
        app, chosen, "convert", "Read a checkpoint, transform it, and write it in another layout",
        "  reshard convert model step_0 --program fuse.aoa --to torch_dcp\n"
        "  mpiexec -n 6 reshard convert model sharded --program fuse.aoa --layout pp2_tp3.json");
    add_path(*command, chosen, "SOURCE", options->files.source, "A checkpoint")->required();
    add_written(*command, "TARGET", options->target,
                "The directory or file to write; its parent directory must exist");
    add_reading(*command, options->files.reading);
    add_to(*command, options->to, "TARGET");
    add_reverse(*command, chosen, options->files, add_program_or_renames(*command, options->files),
                true);
    CLI::Option* const wanted =
        add_path(*command, chosen, "--layout", options->files.target,
                 "A layout file or a checkpoint. The target gets a file for each rank that "
                 "writes, shard-00001-model-... for rank 0 and so on; equal shards are written "
                 "once. Without this option, a Hugging Face directory is written");
    for (CLI::Option* const option : add_replicas(*command, options->replicas, options->per_rank))
        option->needs(wanted);
    add_partial(*command, options->files, "layout")->needs(wanted);
    add_cut_fused(*command, options->files);
    add_share_copies(*command, options->share_copies);
    add_strict(*command, options->files);
    add_strict_warnings(*command, options->files);
    add_writing(*command, chosen, *options);
    command->callback([options, &chosen] {
        options->files.reading.takes_values_alone = !options->no_objects;
        chosen.run = [options, &chosen](processes const& world) {
            return convert_checkpoint(world, *options, chosen.json);
        };
    });
}

} // namespace tool
