// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "08_handover.hpp"

#include <reshard.hpp>
#include <reshard/adapt/raw_tensor.hpp>

#include <boost/mpi/environment.hpp>

#include <bit>
#include <cstdint>

// Serves the layer that 08_trainer_mpi_4.cpp trains, tensor parallel over two ranks, with q, k and
// v in one bfloat16 weight. It receives the weights of each step and checks every element. Start
// both programs in one job:
//
//     mpiexec -n 4 08_trainer_mpi_4 : -n 2 08_server_mpi_2

namespace {

using namespace reshard;
using handover::head, handover::hidden;

// [layout]
/// The servers are the ranks after the trainers; they have qkv by rows, o by columns.
layout served() {
    rank_mesh const ranks({{"tp", 2}}, {handover::trainers, handover::trainers + 1});
    return layout_of({sharding_of("qkv_proj.weight", data_type::bf16,
                                  distribution(ranks, {shard{0}}, {8 * head, hidden})),
                      sharding_of("o_proj.weight", data_type::bf16,
                                  distribution(ranks, {shard{1}}, {hidden, hidden}))});
}
// [/layout]

/// A bfloat16 is the upper half of a float.
float number_of(bfloat16 element) {
    return std::bit_cast<float>(std::uint32_t{element.bits} << 16);
}

/// For each pair of a key head and a value head, the fused weight has two query heads, then the
/// pair.
float qkv_element(index_t row, index_t column, int step) {
    index_t const pair = row / (4 * head), within = row % (4 * head);
    if (within < 2 * head)
        return handover::element('q', pair * 2 * head + within, column, step);
    return handover::element(within < 3 * head ? 'k' : 'v', pair * head + within % head, column,
                             step);
}

/// Whether this rank's shards of both weights, 4 * head rows and hidden / 2 columns, are from
/// `step`.
bool are_of_step(int step, index_t rank, std::vector<bfloat16> const& qkv,
                 std::vector<bfloat16> const& o) {
    for (index_t i = 0; i < std::ssize(qkv); ++i)
        if (number_of(qkv[static_cast<std::size_t>(i)]) !=
            qkv_element(rank * 4 * head + i / hidden, i % hidden, step))
            return false;
    index_t const columns = hidden / handover::servers;
    for (index_t i = 0; i < std::ssize(o); ++i)
        if (number_of(o[static_cast<std::size_t>(i)]) !=
            handover::element('o', i / columns, rank * columns + i % columns, step))
            return false;
    return true;
}

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    if (!handover::is_world(world, false))
        return 1;

    layout const layout = served();
    int const rank = world.rank();
    index_t const columns = hidden / handover::servers;
    std::vector<bfloat16> qkv(4 * head * hidden);
    std::vector<bfloat16> o(static_cast<std::size_t>(hidden * columns));
    state_dict want;
    want.add("qkv_proj.weight", layout, rank, adapt::raw_tensor(qkv.data(), {4 * head, hidden}));
    want.add("o_proj.weight", layout, rank, adapt::raw_tensor(o.data(), {hidden, columns}));

    // [take_over]
    // A server has no source tensors. Between two runs it serves with its present weights.
    job from_trainer = prepare(world, {}, {want, layout}, handover::call_options());
    bool is_right = true;
    for (int step = 1; step <= handover::steps; ++step) {
        run(from_trainer);
        is_right = is_right && are_of_step(step, world.rank() - handover::trainers, qkv, o);
    }
    // [/take_over]

    if (rank == handover::trainers)
        std::cout << (is_right ? "server: received the weights of every step, as bf16 with "
                                 "fused qkv\n"
                               : "server: this is wrong.\n");
    return is_right ? 0 : 1;
}
