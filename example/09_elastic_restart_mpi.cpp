// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/aoa.hpp>
#include <reshard/model.hpp>
#include <reshard/mpi.hpp>
#include <reshard/storage.hpp>

#include <boost/mpi/environment.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

// A training loop that resumes from the latest checkpoint in a directory, saved by any number of
// ranks. The weights are bfloat16, and tensor parallel if the number of ranks is even. The state of
// Adam and the float master weights are in slices over the data-parallel ranks, as in ZeRO:
//
//     mpiexec -n 4 09_elastic_restart_mpi run 4     # steps 1 to 4
//     mpiexec -n 3 09_elastic_restart_mpi run 7     # steps 5 to 7
//     mpiexec -n 1 09_elastic_restart_mpi run 10    # steps 8 to 10
//
// Each run compares its result with an uninterrupted training of the same number of steps.

namespace {

// [spread]
using namespace reshard;

/// The layout of the model and of its state on `ranks` ranks. No extent here divides evenly.
std::vector<tensor_sharding> spread(int ranks) {
    int const tp = ranks % 2 == 0 ? 2 : 1;
    mesh const grid{{"dp", ranks / tp}, {"tp", tp}};
    auto const weight = [&](char const* key, index_vector const& shape, placement along_tp) {
        return sharding_of(key, data_type::bf16,
                           distribution(grid, {replicate{}, along_tp}, shape));
    };
    std::vector<tensor_sharding> shardings{weight("up", {13, 5}, shard{0}),
                                           weight("down", {5, 13}, shard{1}),
                                           weight("norm", {5}, replicate{})};
    for (auto& state : model::states_of(
             model::shard_slices(shardings),
             {{.suffix = ".master"}, {.suffix = ".exp_avg"}, {.suffix = ".exp_avg_sq"}}))
        shardings.push_back(std::move(state));
    return shardings;
}
// [/spread]

/// Adam for one element: the same arithmetic on every rank.
void adam(float& weight, float& mean, float& square, float gradient, int step) {
    mean = 0.9f * mean + 0.1f * gradient;
    square = 0.99f * square + 0.01f * gradient * gradient;
    float const right_mean = mean / (1 - std::pow(0.9f, static_cast<float>(step)));
    float const right_square = square / (1 - std::pow(0.99f, static_cast<float>(step)));
    weight -= 0.05f * right_mean / (std::sqrt(right_square) + 1e-8f);
}

/// A bfloat16 is the upper half of a float.
float number_of(bfloat16 element) {
    return std::bit_cast<float>(std::uint32_t{element.bits} << 16);
}

/// One rank's tensors of the model and its state, as `save_state` and `load_state` need them.
class trainer {
public:
    int step = 0;
    std::map<std::string, std::vector<bfloat16>> weights; ///< tensor-parallel shards
    std::map<std::string, std::vector<float>> slices;     ///< of master weights and moments
    state_dict all, masters_only, weights_only;

    trainer(int ranks, int rank) {
        for (shard_descriptor const& shard : shards_of(spread(ranks), rank))
            if (shard.dtype == data_type::bf16)
                hold(shard, weights[shard.key], weights_only);
            else if (shard.key.ends_with(".master"))
                hold(shard, slices[shard.key], masters_only);
            else
                hold(shard, slices[shard.key], all);
        for (state_dict const* const more : {&masters_only, &weights_only})
            for (auto const& [descriptor, tensor] : *more)
                all.add(descriptor, tensor);
    }

    model_state state() {
        model_state result{{"step", stored_value{std::to_string(step)}}};
        for (local_shard const& each : all)
            result[each.descriptor.key] = each;
        return result;
    }
    void loaded(model_state const& result) {
        step = std::stoi(std::get<stored_value>(result.at("step")).bytes);
    }

    /// The last part of each ZeRO step: all ranks get the weights, which are the master weights as
    /// bf16.
    job all_gather(auto const& ranks) const {
        return prepare(ranks, masters_only, weights_only, {.program = aoa::parse(R"(
            up.master -> up, dtype="bfloat16"
            down.master -> down, dtype="bfloat16"
            norm.master -> norm, dtype="bfloat16")")});
    }

    /// Each rank updates its slices. The loss is half the sum of (weight - 1)^2.
    void train(job& gather) {
        ++step;
        for (auto const& [shard, memory] : masters_only) {
            std::string const key = shard.key.substr(0, shard.key.find('.'));
            std::vector<float>& master = slices[shard.key];
            std::vector<float>& mean = slices[key + ".exp_avg"];
            std::vector<float>& square = slices[key + ".exp_avg_sq"];
            bfloat16 const* const weight = weights[key].data() + shard.flat.value().begin;
            for (std::size_t i = 0; i < master.size(); ++i)
                adam(master[i], mean[i], square[i], number_of(weight[i]) - 1, step);
        }
        run(gather);
    }

private:
    template <class T>
    static void hold(shard_descriptor const& shard, std::vector<T>& memory, state_dict& group) {
        index_vector const shape = local_shape(shard);
        memory.resize(static_cast<std::size_t>(element_count(shape)));
        group.add(shard, tensor_view{memory.data(), shard.dtype, shape, row_major_strides(shape)});
    }
};

/// The model before the first step.
void initialise(trainer& trainer, job& gather) {
    for (auto& [key, elements] : trainer.slices)
        for (std::size_t i = 0; key.ends_with(".master") && i < elements.size(); ++i)
            elements[i] = static_cast<float>(i) / 8 - static_cast<float>(key.size());
    run(gather);
}

// [resume]
/// The latest complete checkpoint; std::nullopt if the directory does not have one yet.
std::optional<checkpoint> latest_in(mpi_group const& ranks, std::filesystem::path const& run) {
    try {
        return open_checkpoint(ranks, run, latest{});
    } catch (error const& problem) {
        if (problem.code() != errc::missing_file)
            throw;
        return std::nullopt;
    }
}
// [/resume]

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    mpi_group const ranks = boost::mpi::communicator();
    int const last = argc == 3 ? std::atoi(argv[2]) : 0;
    if (last < 1) {
        std::cerr << "usage: mpiexec -n RANKS 09_elastic_restart_mpi DIRECTORY LAST_STEP\n";
        return 1;
    }
    std::filesystem::path const directory = argv[1];
    std::filesystem::create_directories(directory);
    int const size = ranks.size();

    // The same training on this rank alone: the start of a first run, and the result to compare
    // with.
    trainer alone(1, 0);
    job gather_alone = alone.all_gather(solo());
    initialise(alone, gather_alone);

    // [loop]
    trainer own_trainer(size, ranks.rank());
    job gather = own_trainer.all_gather(ranks);
    std::string before = "nothing";
    if (auto const saved = latest_in(ranks, directory)) {
        load_state(ranks, *saved, std::tie(own_trainer));
        before = "what " + saved->metadata().metadata.at("ranks") + " saved";
    } else
        redistribute(ranks, alone.all, own_trainer.all);

    int const first = own_trainer.step + 1;
    while (own_trainer.step < last) {
        own_trainer.train(gather);
        save_state(ranks, std::tie(own_trainer),
                   directory / ("step_" + std::to_string(own_trainer.step)),
                   {.writing = {.numbers = {{"step", own_trainer.step}},
                                .texts = {{"ranks", std::to_string(size)}}}});
        retain(ranks, directory, {.last = 2}, true);
    }
    // [/loop]

    trainer trainer(1, 0);
    redistribute(ranks, own_trainer.all, trainer.all);
    while (alone.step < own_trainer.step)
        alone.train(gather_alone);
    bool const is_right = trainer.weights == alone.weights && trainer.slices == alone.slices;
    if (ranks.rank() == 0 || !is_right)
        std::cout << size << (size == 1 ? " rank" : " ranks") << ", from " << before << ": steps "
                  << first << " to " << own_trainer.step << ", "
                  << (is_right ? "as if never interrupted\n" : "and this is wrong\n");
    return is_right ? 0 : 1;
}
