// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "models.hpp"
#include "synthetic.hpp"

#include <reshard/core/vector.hpp>
#include <reshard/storage/checkpoint_writer.hpp>
#include <reshard/storage/file_pieces.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <span>

namespace tool {

namespace {

using namespace reshard;

struct synthesize_options {
    std::string model;
    std::string directory;
    index_t scale = 1;
    std::uint64_t seed = 0;
    index_t shard_bytes = detail::huggingface_file_bytes;
    bool force = false;
    progress_when progress = progress_when::on_terminal;
};

index_t bytes_of(detail::checkpoint_tensor const& tensor) {
    return byte_count(element_count(tensor.shape), tensor.dtype);
}

/// Writes a range of a tensor's bytes.
void put(detail::written_files& files, detail::file_piece const& piece, std::uint64_t seed,
         reshard::vector<std::byte>& buffer, progress_bar& bar, index_t& done, index_t total) {
    detail::checkpoint_tensor const& tensor = files.plan().metadata.tensors[piece.position.tensor];
    std::uint64_t const base = synthetic_base(tensor.key, seed);
    for (std::uint64_t at = piece.bytes.begin; at < piece.bytes.end; at += buffer.size()) {
        std::size_t const count = std::min<std::uint64_t>(buffer.size(), piece.bytes.end - at);
        fill_synthetic(buffer.data(), count, tensor.dtype, base, at / 8);
        files.put(piece.position, at, std::span(buffer).first(count));
        bar(done += static_cast<index_t>(count), total);
    }
}

/// Writes this process's part of the files, and then makes the files visible.
void write(processes const& world, synthesize_options const& options,
           detail::checkpoint_plan const& plan) {
    detail::checkpoint_writer files(world, options.directory, plan, {.replace = options.force});
    agree_on(world, [&] {
        auto pieces = detail::pieces_by_bytes(plan, world.size());
        erase_if(pieces, [&](detail::file_piece const& piece) {
            return piece.process != static_cast<holder_t>(world.rank());
        });
        index_t total = 0, done = 0;
        for (detail::file_piece const& piece : pieces)
            total += static_cast<index_t>(piece.bytes.size());
        progress_bar bar(world.rank() == 0, options.progress);
        reshard::vector<std::byte> buffer(std::size_t{1} << 20);
        for (detail::file_piece const& piece : pieces)
            put(files.files(), piece, options.seed, buffer, bar, done, total);
    });
    files.commit(world);
}

outcome synthesize(processes const& world, synthesize_options const& options, bool as_json) {
    stopwatch const watch;
    catalog const tensors = tensors_of_model(options.model, options.scale);
    detail::checkpoint_plan const plan = detail::plan_huggingface(tensors, options.shard_bytes);
    with_force_hint(options.directory, options.force, [&] { write(world, options, plan); });
    index_t bytes = 0;
    for (detail::checkpoint_tensor const& tensor : plan.metadata.tensors)
        bytes += bytes_of(tensor);
    if (as_json)
        return json_outcome({{"tensors", tensors.size()}, {"bytes", bytes}});
    return {options.directory + ": " + counted(tensors.size(), "tensor") + " of " + options.model +
            " in " + counted(plan.headers.size(), "file") + "\n" +
            closing_line(bytes, watch.seconds()) + "\n"};
}

} // namespace

void add_synthesize(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<synthesize_options>();
    CLI::App* const command = add_command(
        app, chosen, "synthesize", "Write a checkpoint with the tensors of a published model",
        "  reshard synthesize smollm2-135m model\n"
        "  mpiexec -n 4 reshard synthesize llama3-8b model --scale 8 --shard-size 500MB");
    command->add_option("MODEL", options->model, "One of " + CLI::detail::join(model_names(), ", "))
        ->required();
    add_directory(*command, "DIR", options->directory, "The directory to write");
    command->add_option("--scale", options->scale,
                        "Divide the hidden size, the feed-forward sizes and the vocabulary by "
                        "this number");
    command->add_option("--seed", options->seed, "Choose other values");
    add_shard_size(*command, options->shard_bytes, "The maximum size of a file");
    add_force(*command, options->force);
    add_progress(*command, options->progress);
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return synthesize(world, *options, chosen.json);
        };
    });
}

} // namespace tool
