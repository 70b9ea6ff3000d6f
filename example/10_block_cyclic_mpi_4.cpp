// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/mpi.hpp>

#include <boost/mpi/environment.hpp>

#include <array>
#include <iostream>
#include <vector>

// ScaLAPACK distributes this matrix block-cyclically over a grid of processes. Here it moves to
// contiguous blocks of rows, is changed there, and moves back. Run it on four ranks.

namespace {

// [descriptor]
using namespace reshard;

/// The array descriptor that DESCINIT fills. The enumerators name its entries.
enum { dtype_, ctxt_, m_, n_, mb_, nb_, rsrc_, csrc_, lld_ };
using array_descriptor = std::array<int, 9>;

/// The process grid that BLACS makes in row-major order ("R").
constexpr int nprow = 2, npcol = 2;

/// The same distribution as a Reshard layout.
layout layout_of_array(array_descriptor const& a) {
    return layout_of("A", data_type::f64, {a[m_], a[n_]}, {{"p", nprow}, {"q", npcol}},
                     {block_cyclic{0, a[mb_], a[rsrc_]}, block_cyclic{1, a[nb_], a[csrc_]}});
}
// [/descriptor]

/// NUMROC: the number of rows that process `me` has if `n` rows are distributed in blocks of `nb`.
int numroc(int n, int nb, int me, int source, int processes) {
    int const distance = (processes + me - source) % processes;
    int const extra = n / nb % processes;
    return n / nb / processes * nb + (distance < extra ? nb : distance == extra ? n % nb : 0);
}

/// INDXL2G, counted from 0: the global row of a local row.
int global_index(int local, int nb, int me, int source, int processes) {
    return (local / nb * processes + (processes + me - source) % processes) * nb + local % nb;
}

/// A matrix as a rank of the grid stores it: column by column, with unused rows at the end of each
/// column.
struct local_array {
    array_descriptor desc;
    int row, column; ///< position of the process in the grid
    std::vector<double> elements;

    local_array(array_descriptor const& a, int rank)
        : desc(a),
          row(rank / npcol),
          column(rank % npcol),
          elements(static_cast<std::size_t>(a[lld_] * columns())) {}

    int rows() const { return numroc(desc[m_], desc[mb_], row, desc[rsrc_], nprow); }
    int columns() const { return numroc(desc[n_], desc[nb_], column, desc[csrc_], npcol); }

    /// Calls `visit(i, j, a_ij)` for each local element.
    void for_each(auto const& visit) {
        for (int j = 0; j < columns(); ++j)
            for (int i = 0; i < rows(); ++i)
                visit(global_index(i, desc[mb_], row, desc[rsrc_], nprow),
                      global_index(j, desc[nb_], column, desc[csrc_], npcol),
                      elements[static_cast<std::size_t>(i + j * desc[lld_])]);
    }
};

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    if (world.size() != nprow * npcol) {
        std::cerr << "Run this on four ranks: mpiexec -n 4 10_block_cyclic_mpi_4\n";
        return 1;
    }
    int const rank = world.rank();

    // A 10 x 7 matrix in blocks of 3 x 2; process (1, 0) has the first block.
    array_descriptor const desc{1, 0, 10, 7, 3, 2, 1, 0, 8};
    int const m = desc[m_], n = desc[n_];
    auto const element = [&](int i, int j) { return static_cast<double>(n * i + j); };
    local_array a(desc, world.rank());
    a.for_each([&](int i, int j, double& a_ij) { a_ij = element(i, j); });

    // [there]
    layout const blocks = layout_of_array(desc);
    layout const by_rows =
        layout_of("A", data_type::f64, {m, n}, {{"rows", world.size()}}, {shard{0}});

    // This rank's rows are contiguous: the ranks have 3, 3, 3 and 1 rows.
    box const box = shards_of(by_rows, rank).front().region;
    std::vector<double> rows(static_cast<std::size_t>(element_count(box)));

    state_dict cyclic, contiguous;
    cyclic.add("A", blocks, rank,
               adapt::raw_tensor(a.elements.data(), {a.rows(), a.columns()}, {1, desc[lld_]}));
    contiguous.add("A", by_rows, rank, adapt::raw_tensor(rows.data(), box.shape));

    redistribute(world, {cyclic, blocks}, {contiguous, by_rows});
    // [/there]

    bool is_right = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        is_right = is_right &&
                   rows[i] == element(static_cast<int>(box.offset[0]), 0) + static_cast<double>(i);
        rows[i] *= -1; // the actual computation
    }

    // [back]
    redistribute(world, {contiguous, by_rows}, {cyclic, blocks});
    // [/back]
    a.for_each([&](int i, int j, double a_ij) { is_right = is_right && a_ij == -element(i, j); });

    if (rank == 0 || !is_right)
        std::cout << (is_right ? "Rank 0 has " : "This is wrong: rank 0 has ") << a.rows() << " x "
                  << a.columns() << " of 10 x 7 elements in blocks of 3 x 2, and had "
                  << box.shape[0] << " rows in between.\n";
    return is_right ? 0 : 1;
}
