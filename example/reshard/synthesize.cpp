// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "models.hpp"
#include "synthetic.hpp"

#include <reshard/storage/checkpoint_writer.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <numeric>

namespace tool {

namespace {

using namespace reshard;

struct synthesize_options {
    std::string model;
    std::string directory;
    index_t scale = 1;
    std::uint64_t seed = 0;
    index_t shard_bytes = 5'000'000'000;
    bool force = false;
};

index_t bytes_of(detail::checkpoint_tensor const& tensor) {
    return byte_count(element_count(tensor.shape), tensor.dtype);
}

/// Fills the files that this process writes, and then makes them appear.
void write(processes const& world, synthesize_options const& options,
           detail::checkpoint_plan const& plan) {
    detail::checkpoint_writer files(world, options.directory, plan, options.force);
    agree_on(world, [&] {
        progress_bar bar(world.rank() == 0);
        index_t all = 0, filled = 0;
        for (detail::checkpoint_tensor const& tensor : plan.metadata.tensors)
            all += files.files()[tensor.shards.front().file] ? bytes_of(tensor) : 0;
        for (detail::checkpoint_tensor const& tensor : plan.metadata.tensors) {
            detail::checkpoint_shard const& shard = tensor.shards.front();
            std::byte* const file = files.files()[shard.file];
            if (!file)
                continue;
            fill_synthetic(file + shard.begin, static_cast<std::size_t>(shard.end - shard.begin),
                           tensor.dtype, synthetic_base(tensor.key, options.seed));
            bar(filled += bytes_of(tensor), all);
        }
    });
    files.commit(world);
}

outcome synthesize(processes const& world, synthesize_options const& options, bool as_json) {
    stopwatch const watch;
    catalog const tensors = tensors_of_model(options.model, options.scale);
    detail::checkpoint_plan plan = detail::plan_huggingface(tensors, options.shard_bytes);
    std::iota(plan.ranks.begin(), plan.ranks.end(), holder_t{0}); // the processes share the files
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
    command->add_option("DIR", options->directory, "The directory that is to be written")
        ->required();
    command->add_option("--scale", options->scale,
                        "Divide hidden size, feed-forward sizes and vocabulary");
    command->add_option("--seed", options->seed, "Other values for other seeds");
    add_shard_size(*command, options->shard_bytes, "The most bytes of a file");
    add_force(*command, options->force);
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return synthesize(world, *options, chosen.json);
        };
    });
}

} // namespace tool
