// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/mpi.hpp>
#include <reshard/typed.hpp>

#include <boost/mpi/environment.hpp>

#include <array>
#include <cstddef>
#include <iostream>

// A complete redistribution as a type. The compiler plans it: this program does not compile unless
// the plan is complete and has the cost that is written here. At run time each rank compares its
// tensors with the layouts, without messages.

namespace {

using namespace reshard;

// Four tensor-parallel ranks trained the model. Two ranks will serve it, with query and key in one
// tensor.
struct trained
    : typed::layout<mesh{{"tp", 4}}, typed::tensor<"q", float, index_vector{8, 2}, shard{0}>,
                    typed::tensor<"k", float, index_vector{4, 2}, shard{0}>,
                    typed::tensor<"norm", float, index_vector{2}, replicate{}>> {};
struct served
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"qk", float, index_vector{12, 2}, shard{0}>,
                    typed::tensor<"norm", float, index_vector{2}, replicate{}>> {};

// Defines each target tensor that is not simply the source tensor of the same key.
using qk = typed::concat<0, typed::source_of<trained, "q">, typed::source_of<trained, "k">>;
using serve = typed::plan<trained, served, typed::definition<"qk", qk>>;

// Of qk, rank 0 gets the first six rows, two each from ranks 0 to 2. Rank 1 gets the other rows:
// two of q from rank 3, and one of k from each of the four ranks. Both ranks keep their own norm.
static_assert(typed::is_covered<trained> && typed::has_equal_shards<served>);
static_assert(cost_of<serve>().transfers == 3 + 5 + 2);
static_assert(cost_of<serve>().by_process[0].bytes_local == 2 * 2 * 4 + 2 * 4);
static_assert(cost_of<serve>().by_process[0].bytes_in == 4 * 2 * 4);

// A second plan, within one process: the last four rows of a served shard, transposed.
struct shard_of_server : typed::layout<mesh{}, typed::tensor<"qk", float, index_vector{6, 2}>> {};
struct by_columns : typed::layout<mesh{}, typed::tensor<"k", float, index_vector{2, 4}>> {};
using last_rows = typed::split<typed::source_of<shard_of_server, "qk">, 0, index_vector{2, 4}, 1>;
using transpose_k =
    typed::plan<shard_of_server, by_columns,
                typed::definition<"k", typed::permute<last_rows, index_vector{1, 0}>>>;

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    int const rank = world.rank();

    // Each trained rank has two rows of q, one row of k, and the norm.
    std::array<float, 8> indices{};
    for (std::size_t i = 0; i < indices.size(); ++i)
        indices[i] = 10 * static_cast<float>(rank) + static_cast<float>(i);
    layout const before = trained{}, after = served{};
    state_dict have, want;
    have.add("q", before, rank, adapt::raw_tensor(&indices[0], {2, 2}));
    have.add("k", before, rank, adapt::raw_tensor(&indices[4], {1, 2}));
    have.add("norm", before, rank, adapt::raw_tensor(&indices[6], {2}));

    // Each served rank gets six rows of qk, and the norm.
    std::array<float, 14> filled{};
    if (rank < 2) {
        want.add("qk", after, rank, adapt::raw_tensor(&filled[0], {6, 2}));
        want.add("norm", after, rank, adapt::raw_tensor(&filled[12], {2}));
    }
    redistribute<serve>(world, have, want);
    if (rank != 1)
        return 0;

    // Rank 1 now has the last two rows of q, which came from rank 3, and then all of k. It
    // transposes k without other ranks.
    std::array<float, 8> columns{};
    state_dict rows, transposed;
    rows.add("qk", shard_of_server{}, 0, adapt::raw_tensor(&filled[0], {6, 2}));
    transposed.add("k", by_columns{}, 0, adapt::raw_tensor(&columns[0], {2, 4}));
    redistribute<transpose_k>(solo(), rows, transposed);

    std::cout << "q: " << filled[0] << " to " << filled[3] << "; k: " << filled[4] << " to "
              << filled[11] << "; " << cost_of<serve>().transfers
              << " transfers, known before the program ran\n";
    bool const is_right = filled[0] == 30 && filled[3] == 33 && filled[4] == 4 &&
                          filled[11] == 35 && columns[0] == 4 && columns[1] == 14 &&
                          columns[7] == 35;
    return is_right ? 0 : 1;
}
