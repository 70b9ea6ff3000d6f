// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/model.hpp>
#include <reshard/mpi.hpp>

#include <boost/mpi/environment.hpp>

#include <iostream>

// A small mixture of experts was trained on two tensor-parallel times two data-parallel ranks, with
// its Adam state in ZeRO-1 buckets. Here it moves to four pipeline stages, together with its state.
// Run it on four ranks.

namespace {

// [model]
using namespace reshard;

/// 13 words and 5 layers. The first layer is dense; each other layer has 4 experts.
std::vector<model::parallel_tensor> transformer() {
    std::vector<model::parallel_tensor> tensors{
        {.key = "embed",
         .shape = {13, 12},
         .cut = model::vocabulary_parallel(16),
         .stage = model::on_first_stage()},
        {.key = "norm", .shape = {12}, .stage = model::on_last_stage()}};
    for (index_t layer = 0; layer < 5; ++layer) {
        std::string const at = "layers." + std::to_string(layer) + ".";
        model::stage_place const here = model::on_layer(layer);
        tensors.push_back({.key = at + "qkv",
                           .shape = {24, 12},
                           .cut = model::fused_qkv_cut(4, 2),
                           .stage = here});
        tensors.push_back(
            {.key = at + "o", .shape = {12, 12}, .cut = model::row_parallel(), .stage = here});
        if (layer == 0)
            tensors.push_back({.key = at + "up",
                               .shape = {16, 12},
                               .cut = model::fused_gate_up(),
                               .stage = here});
        for (index_t expert = 0; layer > 0 && expert < 4; ++expert)
            tensors.push_back({.key = at + "experts." + std::to_string(expert) + ".up",
                               .shape = {8, 12},
                               .cut = model::fused_gate_up(),
                               .stage = here,
                               .expert = expert});
    }
    return tensors;
}
// [/model]

// [spread]
/// The layout of the model and of its state: two moments and a master weight for each parameter.
std::vector<tensor_sharding> spread(model::parallelism const& degrees) {
    model::parallel_job const job(degrees, model::uneven_pipeline(5, degrees.pp), 4);
    std::vector<tensor_sharding> shardings;
    for (model::parallel_tensor const& tensor : transformer())
        shardings.push_back(sharding_of(tensor, job));
    for (auto& state : model::states_of(model::shard_buffers(shardings, model::megatron_buckets),
                                        model::megatron_states()))
        shardings.push_back(std::move(state));
    return shardings;
}
// [/spread]

/// The tensors of one rank, in memory.
struct rank_tensors {
    std::vector<std::vector<std::byte>> memory;
    state_dict shards;

    rank_tensors() = default;
    rank_tensors(std::vector<tensor_sharding> const& shardings, int rank) {
        for (shard_descriptor const& shard : shards_of(shardings, rank)) {
            index_vector const shape = local_shape(shard);
            memory.emplace_back(
                static_cast<std::size_t>(byte_count(element_count(shape), shard.dtype)));
            shards.add(shard, tensor_view{memory.back().data(), shard.dtype, shape,
                                          row_major_strides(shape)});
        }
    }
};

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    if (world.size() < 4) {
        std::cerr << "Run this on four ranks.\n";
        return 1;
    }
    auto const on = [&](model::parallelism const& degrees, int ranks) {
        return world.rank() < ranks ? rank_tensors(spread(degrees), world.rank()) : rank_tensors();
    };

    // The first rank makes the model, and each rank gets its shards.
    rank_tensors tensors = on({}, 1), back = on({}, 1);
    std::size_t number = 0;
    for (auto& bytes : tensors.memory)
        for (std::byte& each : bytes)
            each = static_cast<std::byte>(++number % 251);
    rank_tensors trained = on({.tp = 2, .dp = 2}, 4), staged = on({.pp = 4}, 4);
    redistribute(world, tensors.shards, trained.shards);

    // [change]
    // Changes the parallel strategy.
    job change = prepare(world, trained.shards, staged.shards);
    run(change);
    // [/change]

    redistribute(world, staged.shards, back.shards);
    if (world.rank() != 0)
        return 0;
    std::cout << "Rank 0 had " << trained.shards.size() << " shards and has "
              << staged.shards.size() << "; it received " << change.cost().bytes_in
              << " bytes from other ranks. "
              << (back.memory == tensors.memory ? "Every byte came back.\n" : "This is wrong.\n");
    return back.memory == tensors.memory ? 0 : 1;
}
