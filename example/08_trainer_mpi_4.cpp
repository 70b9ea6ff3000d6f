// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "08_handover.hpp"

#include <reshard.hpp>
#include <reshard/adapt/raw_tensor.hpp>

#include <boost/mpi/environment.hpp>

#include <map>
#include <string>

// Trains a layer of attention, tensor parallel over two ranks times data parallel over two, and
// hands the weights to a server after each step, as reinforcement learning does. The server is
// 08_server_mpi_2.cpp. Start both programs in one job:
//
//     mpiexec -n 4 08_trainer_mpi_4 : -n 2 08_server_mpi_2

namespace {

using namespace reshard;

/// Megatron's layout: q, k and v by rows, o by columns; the data-parallel ranks have copies.
layout trained() {
    mesh const ranks{{"dp", 2}, {"tp", 2}};
    auto const weight = [&](char const* key, index_t rows, std::size_t axis) {
        return sharding_of(
            key, data_type::f32,
            distribution(ranks, {replicate{}, shard{axis}}, {rows, handover::hidden}));
    };
    return layout_of({weight("q_proj.weight", 4 * handover::head, 0),
                      weight("k_proj.weight", 2 * handover::head, 0),
                      weight("v_proj.weight", 2 * handover::head, 0),
                      weight("o_proj.weight", handover::hidden, 1)});
}

/// A rank's shard of a weight before the first step.
std::vector<float> initial(shard_descriptor const& shard) {
    std::vector<float> elements;
    box const& here = shard.region;
    for (index_t row = here.offset[0]; row < here.end(0); ++row)
        for (index_t column = here.offset[1]; column < here.end(1); ++column)
            elements.push_back(handover::element(shard.key[0], row, column, 0));
    return elements;
}

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    if (!handover::is_world(world, true))
        return 1;

    layout const layout = trained();
    std::map<std::string, std::vector<float>> weights;
    const_state_dict have;
    for (shard_descriptor const& shard : shards_of(layout, world.rank())) {
        weights[shard.key] = initial(shard);
        have.add(shard, adapt::raw_tensor(weights[shard.key].data(), shard.region.shape));
    }

    // [hand_over]
    // A trainer has no target tensors, and does not need to know the server's layout.
    job to_server = prepare(world, {have, layout}, {}, handover::call_options());
    for (int step = 1; step <= handover::steps; ++step) {
        for (auto& [key, elements] : weights)
            for (float& element : elements)
                element += 1; // the gradient is -1, and the learning rate 1
        run(to_server);
    }
    // [/hand_over]

    if (world.rank() == 0)
        std::cout << "trainer: sent " << to_server.cost().bytes_out << " bytes in each of "
                  << handover::steps << " steps\n";
    return 0;
}
