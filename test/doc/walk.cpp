// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// The call that the walk of doc/architecture.md describes. It writes the address of each library
/// function that one rank enters, once, in order. Compile it with `-finstrument-functions`.

#include <reshard.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/mpi.hpp>

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <numeric>
#include <vector>

namespace {

constexpr std::size_t most_functions = std::size_t{1} << 16;

void*
    entered[most_functions]; // a table of hashes: a vector would enter functions
void* order[most_functions];
std::size_t count = 0;
bool is_recording = false;

} // namespace

extern "C" [[gnu::no_instrument_function]] void
__cyg_profile_func_enter(void* function, void*) {
    if (!is_recording || count == most_functions / 2)
        return;
    std::size_t at =
        reinterpret_cast<std::size_t>(function) / 16 % most_functions;
    while (entered[at] != nullptr && entered[at] != function)
        at = (at + 1) % most_functions;
    if (entered[at] == function)
        return;
    entered[at] = function;
    order[count++] = function;
}

extern "C" [[gnu::no_instrument_function]] void __cyg_profile_func_exit(void*,
                                                                        void*) {}

/// Two ranks have the rows of a matrix, and want its columns.
int main(int argc, char** argv) {
    boost::mpi::environment const mpi(argc, argv);
    boost::mpi::communicator const world;
    reshard::index_t const ranks = world.size(), rank = world.rank(),
                           n = 6 * ranks;
    std::vector<float> rows(static_cast<std::size_t>(n * n / ranks)),
        columns(rows.size());
    std::iota(rows.begin(), rows.end(), static_cast<float>(rank * n * n / ranks));
    reshard::index_t const share = n / ranks;
    reshard::state_dict have, want;
    have.add(reshard::equal_shares("w", reshard::data_type::f32, {share, n},
                                   {{0, rank, ranks}}),
             reshard::tensor_view{
                 rows.data(), reshard::data_type::f32, {share, n}, {n, 1}});
    want.add(
        reshard::equal_shares("w", reshard::data_type::f32, {n, share},
                              {{1, rank, ranks}}),
        reshard::tensor_view{
            columns.data(), reshard::data_type::f32, {n, share}, {share, 1}});
    is_recording = rank == 0;
    reshard::redistribute(world, have, want);
    is_recording = false;
    for (reshard::index_t i = 0; i < n; ++i)
        for (reshard::index_t j = 0; j < n / ranks; ++j)
            if (columns[static_cast<std::size_t>(i * n / ranks + j)] !=
                static_cast<float>(i * n + rank * n / ranks + j))
                return 1;
    std::ofstream file(rank == 0 && argc > 1 ? argv[1] : "/dev/null");
    for (std::size_t i = 0; i < count; ++i)
        file << order[i] << '\n';
    return file ? 0 : 1;
}
