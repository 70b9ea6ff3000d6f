// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "13_bridge.hpp"

// [includes]
#include <reshard.hpp>
#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/bridge.hpp>
#include <reshard/mpi/mpi_group.hpp>

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace reshard;
// [/includes]

// Trains a layer of attention, tensor parallel over two ranks times data parallel over two, and
// publishes the weights after each step. Servers are separate programs with their own layouts,
// which start and stop at any time; 13_bridge_server_mpi_2.cpp is one. Each program is a separate
// job, started in any order:
//
//     mpiexec -n 4 13_bridge_trainer_mpi_4 weights.port &
//     mpiexec -n 2 13_bridge_server_mpi_2 weights.port

namespace {

namespace layer = bridge_example;

/// Megatron's layout: q, k and v by rows, o by columns; the data-parallel ranks have copies.
layout trained() {
    mesh const ranks{{"dp", 2}, {"tp", 2}};
    auto const weight = [&](char const* key, index_t rows, std::size_t axis) {
        return sharding_of(key, data_type::f32,
                           distribution(ranks, {replicate{}, shard{axis}}, {rows, layer::hidden}));
    };
    return layout_of(
        {weight("q_proj.weight", 4 * layer::head, 0), weight("k_proj.weight", 2 * layer::head, 0),
         weight("v_proj.weight", 2 * layer::head, 0), weight("o_proj.weight", layer::hidden, 1)});
}

/// A rank's shard of a weight after `step` steps.
void train(shard_descriptor const& shard, std::uint64_t step, std::vector<float>& elements) {
    box const& here = shard.region;
    elements.clear();
    for (index_t row = here.offset[0]; row < here.end(0); ++row)
        for (index_t column = here.offset[1]; column < here.end(1); ++column)
            elements.push_back(layer::element(shard.key[0], row, column, step));
}

/// True if a server has taken the last version.
bool train_and_publish(boost::mpi::communicator const& world, std::string const& port) {
    layout const layout = trained();
    std::vector<shard_descriptor> const shards = shards_of(layout, world.rank());
    std::map<std::string, std::vector<float>> weights;
    const_state_dict have;
    for (shard_descriptor const& shard : shards) {
        train(shard, 0, weights[shard.key]);
        have.add(shard, adapt::raw_tensor(weights[shard.key].data(), shard.region.shape));
    }

    // [publish]
    // A server that is slow, stops or is killed delays a step by a second at most.
    bridge_source to_servers(mpi_group(world), {have, layout}, port,
                             {.deadline = std::chrono::seconds(1)});
    std::uint64_t version = 0;
    for (std::uint64_t step = 1; step <= layer::steps; ++step) {
        for (shard_descriptor const& shard : shards)
            train(shard, step, weights[shard.key]);
        version = to_servers.publish();
    }
    // The published memory ends with the trainer, so wait until one server has the last version.
    bool const is_taken = to_servers.wait_for_readers(1, std::chrono::seconds(60));
    // [/publish]

    // The last step was compared with the step before: no element of o_proj was copied.
    if (world.rank() == 0)
        std::cout << "trainer: published " << version << " versions, the last of "
                  << to_servers.stats().bytes << " bytes on rank 0; "
                  << (is_taken ? "a server has it\n" : "no server took it\n");
    return is_taken;
}

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    if (argc != 2 || world.size() != 4) {
        std::cerr << "usage: mpiexec -n 4 13_bridge_trainer_mpi_4 PORT_FILE\n";
        return 1;
    }
    try {
        return train_and_publish(world, argv[1]) ? 0 : 1;
    } catch (error const& problem) { // on all ranks, for example if the path cannot be a file
        if (world.rank() == 0)
            std::cerr << "trainer: " << problem.what() << '\n';
        return 1;
    }
}
