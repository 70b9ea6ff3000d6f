// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job_options.hpp"
#include "json.hpp"

#include <reshard/format/chunk_digests.hpp>
#include <reshard/storage/verify.hpp>

#include <CLI/CLI.hpp>

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

json::array json_of(std::vector<detail::bad_chunk> const& bad) {
    json::array all;
    for (detail::bad_chunk const& chunk : bad)
        all.push_back(json_of(chunk));
    return all;
}

std::string text_of(verification const& found) {
    std::string text;
    for (detail::bad_chunk const& chunk : found.bad)
        text += describe(chunk) + "\n";
    if (!found.unverified.empty())
        text += "without digests: " + listed(found.unverified) + "\n";
    return text;
}

std::string verdict_on(verification const& found, std::size_t files) {
    if (!found.ok())
        return bold("changed");
    if (found.unverified.empty())
        return "as it was saved";
    return found.unverified.size() == files ? "no digests to compare with"
                                            : "as it was saved where there are digests";
}

struct verify_command {
    std::string path;
    progress_when progress = progress_when::on_terminal;
};

verification verified(processes const& world, checkpoint const& source, progress_when when) {
    progress_bar bar(world.rank() == 0, when);
    return verify(world, source, std::ref(bar));
}

outcome verify_checkpoint(processes const& world, verify_command const& options, bool as_json) {
    stopwatch const watch;
    checkpoint const source = open_checkpoint(world, options.path);
    verification const found = verified(world, source, options.progress);
    int const status = found.ok() ? done : no;
    std::size_t const files = source.metadata().files.size();
    if (as_json)
        return json_outcome({{"ok", found.ok()},
                             {"files", files},
                             {"bytes", found.bytes},
                             {"bad", json_of(found.bad)},
                             {"unverified", json_texts(found.unverified)}},
                            status);
    return {text_of(found) + options.path + ": " + counted(files, "file") + ", " +
                verdict_on(found, files) + "\n" + closing_line(found.bytes, watch.seconds()) + "\n",
            status};
}

} // namespace

void add_verify(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<verify_command>();
    CLI::App* const command =
        add_command(app, chosen, "verify", "Compare a checkpoint with the digests saved with it",
                    "  reshard verify model\n"
                    "  mpiexec -n 4 reshard verify model --json");
    add_path(*command, chosen, "PATH", options->path, "A checkpoint")->required();
    add_progress(*command, options->progress);
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return verify_checkpoint(world, *options, chosen.json);
        };
    });
}

} // namespace tool
