// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef EXAMPLE_08_HANDOVER_HPP
#define EXAMPLE_08_HANDOVER_HPP

#include <reshard/aoa.hpp>
#include <reshard/mpi.hpp>
#include <reshard/plan/between_nodes.hpp>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/communicator.hpp>

#include <algorithm>
#include <iostream>
#include <vector>

// The settings that a trainer and a server share: their ranks in the common world, the names of the
// weights, and the program that makes the server's weights. Each side chooses its own layout.

namespace handover {

/// The trainers are the first ranks of the world, the servers the others.
inline constexpr int trainers = 4, servers = 2;
inline constexpr int steps = 3;

// [program]
/// Both sides use this program. It fuses q, k and v, and casts all weights to bfloat16.
inline constexpr char const* program = R"(
q_proj.weight, k_proj.weight, v_proj.weight -> qkv, fused_qkv, axis=0, num_q_heads=4, num_kv_heads=2
qkv -> qkv_proj.weight, dtype="bfloat16"
o_proj.weight -> o_proj.weight, dtype="bfloat16"
)";

inline reshard::options call_options() {
    return {.program = reshard::aoa::parse(program, "handover.aoa"),
            .between_nodes = reshard::balanced_senders()};
}
// [/program]

/// A head has eight rows; weights are [out, in].
inline constexpr reshard::index_t hidden = 32, head = 8;

/// An element of a trainer's weight after `step` steps: a number that bfloat16 represents exactly.
inline float element(char weight, reshard::index_t row, reshard::index_t column, int step) {
    return static_cast<float>((weight + 31 * row + 7 * column) % 200 + step);
}

/// Whether the number of ranks is right; if not, rank 0 prints the command to type.
inline bool is_world(boost::mpi::communicator const& world, bool is_trainer) {
    std::vector<int> is, should(trainers, 1);
    should.resize(trainers + servers, 0);
    boost::mpi::all_gather(world, is_trainer ? 1 : 0, is);
    if (is != should && world.rank() == 0)
        std::cerr << "Trainers: " << std::ranges::count(is, 1)
                  << ", servers: " << std::ranges::count(is, 0) << ". Start both in one job:\n"
                  << "    mpiexec -n " << trainers << " 08_trainer_mpi_4 : -n " << servers
                  << " 08_server_mpi_2\n";
    return is == should;
}

} // namespace handover

#endif
