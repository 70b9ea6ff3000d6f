// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "file_sums.hpp"
#include "job_options.hpp"
#include "json.hpp"

#include <reshard/format/chunk_digests.hpp>
#include <reshard/storage/verify.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

json::object json_of(detail::bad_chunk const& chunk) {
    return {{"file", json_text(chunk.file)},
            {"key", json_text(chunk.key)},
            {"byte_range", {chunk.begin, chunk.end}},
            {"expected", detail::hex_text(chunk.expected)},
            {"found", detail::hex_text(chunk.found)}};
}

json::object json_of(changed_file const& file) {
    return {{"file", json_text(file.file)},
            {"key", nullptr},
            {"byte_range", {0, file.bytes}},
            {"expected", json_text(file.expected)},
            {"found", file.found.empty() ? json::value(nullptr) : json_text(file.found)}};
}

std::string describe(changed_file const& file) {
    return file.file +
           (file.found.empty() ? ": is missing; its SHA-256 sum should be "
                               : ": its SHA-256 sum is " + file.found + ", not ") +
           file.expected + " (integrity.json)";
}

/// The result for bytes that are compared with digests of chunks, and with sums of files.
struct verify_result {
    verification found;
    reshard::vector<changed_file> changed;

    bool ok() const { return found.ok() && changed.empty(); }
};

json::array json_of_bad(verify_result const& result) {
    json::array array;
    for (detail::bad_chunk const& chunk : result.found.bad)
        array.push_back(json_of(chunk));
    for (changed_file const& file : result.changed)
        array.push_back(json_of(file));
    return array;
}

std::string text_of(verify_result const& result) {
    std::string text;
    for (detail::bad_chunk const& chunk : result.found.bad)
        text += describe(chunk) + "\n";
    for (changed_file const& file : result.changed)
        text += describe(file) + "\n";
    if (!result.found.unverified.empty())
        text += "without digests: " + listed(result.found.unverified) + "\n";
    return text;
}

std::string verdict_on(verify_result const& result, std::size_t files) {
    verification const& verification = result.found;
    if (!result.ok())
        return bold("changed");
    if (verification.unverified.empty())
        return "as it was saved";
    return verification.unverified.size() == files ? "no digests to compare with"
                                                   : "as it was saved, as far as there are digests";
}

struct verify_command {
    std::string path;
    detail::safetensors_options reading = {};
    progress_when progress = progress_when::on_terminal;
};

/// Adds the result of comparing files with their sums.
void add_sums(verify_result& result, compared_files const& sums) {
    result.found.bytes += sums.bytes;
    result.changed = sums.changed;
    erase_if(result.found.unverified, [&](std::string const& path) {
        return std::ranges::count(sums.with_sums, std::filesystem::path(path).filename().string()) >
               0;
    });
}

verify_result verified(processes const& world, checkpoint const& source, progress_when when) {
    verify_result result;
    {
        progress_bar bar(world.rank() == 0, when);
        result.found = verify(world, source, std::ref(bar));
    }
    checkpoint_metadata const& metadata = source.metadata();
    if (metadata.format == "megatron_torch_dist")
        if (auto const sums = compare_with_sums(world, metadata.path, when))
            add_sums(result, *sums);
    return result;
}

outcome verify_checkpoint(processes const& world, verify_command const& options, bool as_json) {
    stopwatch const watch;
    checkpoint const source = open_checkpoint(world, options.path, {.format = options.reading});
    verify_result const result = verified(world, source, options.progress);
    verification const& verification = result.found;
    int const status = result.ok() ? done : no;
    std::size_t const files = source.metadata().files.size();
    if (as_json)
        return json_outcome({{"ok", result.ok()},
                             {"files", files},
                             {"bytes", verification.bytes},
                             {"bad", json_of_bad(result)},
                             {"unverified", json_texts(verification.unverified)}},
                            status);
    return {text_of(result) + options.path + ": " + counted(files, "file") + ", " +
                verdict_on(result, files) + "\n" +
                closing_line(verification.bytes, watch.seconds()) + "\n",
            status};
}

} // namespace

void add_verify(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<verify_command>();
    CLI::App* const command =
        add_command(app, chosen, "verify",
                    "Compare a checkpoint with the digests saved with it, or files of "
                    "Megatron-Core with their sums in integrity.json",
                    "  reshard verify model\n"
                    "  mpiexec -n 4 reshard verify model --json");
    add_path(*command, chosen, "PATH", options->path, "A checkpoint")->required();
    add_compatible(*command, options->reading);
    add_progress(*command, options->progress);
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return verify_checkpoint(world, *options, chosen.json);
        };
    });
}

} // namespace tool
