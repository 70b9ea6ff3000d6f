// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"

#include <reshard/format/checkpoint.hpp>
#include <reshard/format/written_formats.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/checkpoint_listing.hpp>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <system_error>

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

/// The parent directory of an existing or future path.
std::filesystem::path parent_of(std::filesystem::path const& path) {
    std::filesystem::path const plain = path.has_filename() ? path : path.parent_path();
    return plain.has_parent_path() ? plain.parent_path() : ".";
}

/// Whether a directory is the checkpoint `known_names`, or contains files that only checkpoints
/// have.
bool is_checkpoint(std::filesystem::path const& directory, std::string const& known_names) {
    namespace detail = reshard::detail;
    std::error_code ignored;
    if (std::filesystem::equivalent(directory, known_names, ignored))
        return true;
    return detail::is_checkpoint_directory(*detail::files_of_system(), directory);
}

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
                      std::string& path, std::string const& noun) {
    chosen.checkpoints.push_back(&path);
    return command.add_option(name, path, noun);
}

CLI::Option* add_written(CLI::App& command, std::string const& name, std::string& path,
                         std::string const& noun) {
    auto const complaint = [](std::string const& text) {
        return is_latest(text) ? "'" + text + "' can only be read; give the new checkpoint a name"
                               : std::string();
    };
    return command.add_option(name, path, noun)->required()->check(complaint, "");
}

CLI::Option* add_directory(CLI::App& command, std::string const& name, std::string& path,
                           std::string const& noun) {
    auto const complaint = [](std::string const& text) {
        return std::filesystem::path(text).extension() == ".safetensors"
                   ? "'" + text + "' names a file, but this command writes a directory; give " +
                         "another name, or write one file with reshard merge"
                   : std::string();
    };
    return add_written(command, name, path, noun)->check(complaint, "");
}

void add_from(CLI::App& command, std::string& format) {
    command.add_option("--from", format, "The format to read; detected by default")
        ->check(CLI::IsMember(reshard::detail::names_of_read_formats()));
}

void add_compatible(CLI::App& command, reshard::detail::safetensors_options& reading) {
    command.add_flag_callback(
        "--compatible",
        [&reading] { reading.mode = reshard::detail::safetensors_mode::compatible; },
        "Accept everything that the reference reader of safetensors accepts; if a tensor is in "
        "several files, use the file that the index lists");
}

void add_source_layout(CLI::App& command, reshard::detail::safetensors_options& reading,
                       std::string const& directory) {
    command.add_option("--source-layout", reading.source_layout,
                       "A JSON file that says which files of " + directory +
                           " the ranks wrote, and how their tensors are cut, if the files do "
                           "not say so themselves: {\"files\": \"consolidated.{rank:02}.pth\", "
                           "\"mesh\": [[\"tp\", 2]], \"rules\": [...]}");
}

void add_reading(CLI::App& command, reshard::detail::safetensors_options& reading) {
    add_from(command, reading.from);
    add_compatible(command, reading);
    command
        .add_option("--only", reading.only,
                    "Read only the tensors and other values whose keys match this pattern, "
                    "such as 'model.**', and treat all others as absent (* is a name between "
                    "two dots, ** is anything)")
        ->expected(1)
        ->take_all();
    command
        .add_option("--without", reading.without,
                    "Omit the tensors and other values whose keys match this pattern, such as "
                    "'optimizer.**'")
        ->expected(1)
        ->take_all();
    add_source_layout(command, reading, "a directory");
}

void add_to(CLI::App& command, std::string& format, std::string const& target) {
    command
        .add_option("--to", format,
                    "The format to write; by default, the one that the ending of " + target +
                        " names, such as .npz, or else safetensors")
        ->check(CLI::IsMember(reshard::detail::names_of_written_formats()));
}

std::string format_to_write(std::string const& format, std::string const& target) {
    auto const* const match = reshard::detail::format_of_file(target);
    return format.empty() && match ? std::string(match->name) : format;
}

void check_outside(processes const& world, std::string const& target, std::string const& source) {
    reshard::agree_on(world, [&] {
        std::filesystem::path const parent = parent_of(target);
        if (world.rank() == 0 && is_checkpoint(parent, source))
            reshard::fail(reshard::errc::unsupported, target, ": is inside the checkpoint ",
                          parent.string(),
                          ", and would be lost when that checkpoint is replaced; give a target "
                          "outside it");
    });
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
