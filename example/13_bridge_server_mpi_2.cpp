// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "13_bridge.hpp"

// [includes]
#include <reshard.hpp>
#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/aoa.hpp>
#include <reshard/bridge.hpp>
#include <reshard/mpi/mpi_group.hpp>

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <vector>

using namespace reshard;
// [/includes]

// Serves the layer that 13_bridge_trainer_mpi_4.cpp trains, tensor parallel over two ranks, with q,
// k and v in one bfloat16 weight. Whenever it is ready for a new version it takes over the newest
// one, and checks every element.

namespace {

namespace layer = bridge_example;

// [program]
constexpr char const* program = R"(
q_proj.weight, k_proj.weight, v_proj.weight -> qkv, fused_qkv, axis=0, num_q_heads=4, num_kv_heads=2
qkv -> qkv_proj.weight, dtype="bfloat16"
o_proj.weight -> o_proj.weight, dtype="bfloat16"
)";
// [/program]

/// The layout: qkv by rows, o by columns.
layout served() {
    mesh const ranks{{"tp", 2}};
    return layout_of(
        {sharding_of("qkv_proj.weight", data_type::bf16,
                     distribution(ranks, {shard{0}}, {8 * layer::head, layer::hidden})),
         sharding_of("o_proj.weight", data_type::bf16,
                     distribution(ranks, {shard{1}}, {layer::hidden, layer::hidden}))});
}

float number_of(bfloat16 element) {
    return std::bit_cast<float>(std::uint32_t{element.bits} << 16);
}

/// For each pair of a key head and a value head, the fused weight has two query heads, then the
/// pair.
float qkv_element(index_t row, index_t column, std::uint64_t step) {
    index_t const pair = row / (4 * layer::head), within = row % (4 * layer::head);
    if (within < 2 * layer::head)
        return layer::element('q', pair * 2 * layer::head + within, column, step);
    return layer::element(within < 3 * layer::head ? 'k' : 'v',
                          pair * layer::head + within % layer::head, column, step);
}

/// One rank's shards of both weights.
struct weights {
    static constexpr index_t columns = layer::hidden / 2;

    std::vector<bfloat16> qkv = std::vector<bfloat16>(4 * layer::head * layer::hidden);
    std::vector<bfloat16> o = std::vector<bfloat16>(layer::hidden * columns);

    state_dict views(layout const& layout, int rank) {
        state_dict tensors;
        tensors.add("qkv_proj.weight", layout, rank,
                    adapt::raw_tensor(qkv.data(), {4 * layer::head, layer::hidden}));
        tensors.add("o_proj.weight", layout, rank,
                    adapt::raw_tensor(o.data(), {layer::hidden, columns}));
        return tensors;
    }

    /// Whether every element has the trainer's value after `step` steps.
    bool are_of(std::uint64_t step, index_t rank) const {
        for (index_t i = 0; i < std::ssize(qkv); ++i)
            if (number_of(qkv[static_cast<std::size_t>(i)]) !=
                qkv_element(rank * 4 * layer::head + i / layer::hidden, i % layer::hidden, step))
                return false;
        for (index_t i = 0; i < std::ssize(o); ++i)
            if (number_of(o[static_cast<std::size_t>(i)]) !=
                layer::element('o', i / columns, rank * columns + i % columns, step))
                return false;
        return true;
    }
};

/// Takes over versions up to the trainer's last one; false if an element was wrong.
bool serve(boost::mpi::communicator const& world, char const* port_file) {
    layout const layout = served();
    int const rank = world.rank();
    bool is_right = true;
    // [take_over]
    // One of the two sets serves while the other is filled. The server may start before the
    // trainer.
    std::array<weights, 2> sets;
    bridge_target from_trainer(
        mpi_group(world), {sets[0].views(layout, rank), layout},
        {sets[1].views(layout, rank), layout}, port_file,
        {.program = aoa::parse(program, "server.aoa"), .deadline = std::chrono::seconds(60)});
    std::uint64_t version = 0;
    while (version < layer::steps) {
        version = from_trainer.update(version + 1); // the newest version: some may be skipped
        weights const& front = sets[from_trainer.front()];
        is_right = is_right && front.are_of(version, world.rank());
    }
    // [/take_over]

    if (rank == 0)
        std::cout << (is_right ? "server: every version was complete; the last one is "
                               : "server: wrong elements in a version up to ")
                  << version << '\n';
    return is_right;
}

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    if (argc != 2 || world.size() != 2) {
        std::cerr << "usage: mpiexec -n 2 13_bridge_server_mpi_2 PORT_FILE\n";
        return 1;
    }
    try {
        return serve(world, argv[1]) ? 0 : 1;
    } catch (error const& problem) { // on both ranks, for example if the trainer does not come back
        if (world.rank() == 0)
            std::cerr << "server: " << problem.what() << '\n';
        return 1;
    }
}
