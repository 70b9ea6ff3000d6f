// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/span.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/mpi.hpp>

#include <boost/mpi/environment.hpp>

#include <iostream>
#include <numeric>

// Two vectors swap layouts over MPI. At first, `weight` is cut over the ranks and every rank has
// all of `bias`; afterwards it is the other way round. Run it on any number of ranks.

// [begin]
int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    // [/begin]
    using reshard::data_type, reshard::equal_shares;
    constexpr std::int64_t rows = 4;
    std::int64_t const rank = world.rank(), ranks = world.size();

    // This rank's source: some rows of `weight`, and all of `bias`. Each element is its global
    // index.
    std::vector<float> weight(rows);
    std::vector<float> bias(static_cast<std::size_t>(rows * ranks));
    std::iota(weight.begin(), weight.end(), static_cast<float>(rows * rank));
    std::iota(bias.begin(), bias.end(), 0.0f);

    // This rank's target: all of `weight`, and some rows of `bias`.
    std::vector<float> all_weights(bias.size());
    std::vector<float> my_bias(weight.size());

    reshard::state_dict have, want;
    have.add(equal_shares("weight", data_type::f32, {rows}, {{0, rank, ranks}}), weight);
    have.add(equal_shares("bias", data_type::f32, {rows * ranks}, {}), bias);
    want.add(equal_shares("weight", data_type::f32, {rows * ranks}, {}), all_weights);
    want.add(equal_shares("bias", data_type::f32, {rows}, {{0, rank, ranks}}), my_bias);

    reshard::redistribute(world, have, want);

    bool const is_right = all_weights == bias && my_bias == weight;
    if (rank == 0)
        std::cout << (is_right ? "Both vectors have arrived.\n" : "This is wrong.\n");
    return is_right ? 0 : 1;
}
