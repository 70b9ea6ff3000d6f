// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa.hpp>
#include <reshard/mpi.hpp>

#include <reshard/adapt/span.hpp>
#include <reshard/layout/equal_shares.hpp>

#include <boost/mpi/environment.hpp>

#include <iostream>
#include <numeric>
#include <vector>

// The program that is measured as `aoa`: it gives its mapping as AOA text. Two vectors, cut over
// the ranks, become one vector on every rank.

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    using reshard::data_type, reshard::equal_shares;
    constexpr std::int64_t rows = 4;
    std::int64_t const rank = world.rank(), ranks = world.size();

    std::vector<float> first(rows), second(rows);
    std::iota(first.begin(), first.end(), static_cast<float>(rows * rank));
    std::iota(second.begin(), second.end(), static_cast<float>(rows * (ranks + rank)));
    std::vector<float> both(static_cast<std::size_t>(2 * rows * ranks)), expected(both.size());
    std::iota(expected.begin(), expected.end(), 0.0f);

    reshard::state_dict have, want;
    have.add(equal_shares("first", data_type::f32, {rows}, {{0, rank, ranks}}), first);
    have.add(equal_shares("second", data_type::f32, {rows}, {{0, rank, ranks}}), second);
    want.add(equal_shares("both", data_type::f32, {2 * rows * ranks}, {}), both);

    reshard::redistribute(world, have, want,
                          {.program = reshard::aoa::parse("first, second -> both, axis=0")});

    if (rank == 0)
        std::cout << (both == expected ? "Both vectors are one.\n" : "This is wrong.\n");
    return both == expected ? 0 : 1;
}
