// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_PROCESS_GRID_HPP
#define RESHARD_BENCH_PROCESS_GRID_HPP

#include <mpi.h>

#include <vector>

/// \file
/// The functions of ScaLAPACK that the benchmarks call.

// ScaLAPACK has no headers.
extern "C" {
int Csys2blacs_handle(MPI_Comm world);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridmap(int* context, int* ranks, int rows, int row_count, int column_count);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int rows, int columns, double* source, int source_row, int source_column,
               int* source_description, double* target, int target_row, int target_column,
               int* target_description, int context);
}

namespace bench {

/// A grid of processes, freed with its object. Processes outside the grid have the context -1.
class process_grid {
public:
    /// `ranks[i + rows * j]` is at row `i`, column `j`.
    process_grid(MPI_Comm world, std::vector<int> ranks, int rows)
        : handle_(Csys2blacs_handle(world)), context_(handle_) {
        int const columns = static_cast<int>(ranks.size()) / rows;
        Cblacs_gridmap(&context_, ranks.data(), rows, rows, columns);
    }
    process_grid(process_grid const&) = delete;
    process_grid& operator=(process_grid const&) = delete;
    ~process_grid() {
        if (context_ >= 0)
            Cblacs_gridexit(context_);
        Cfree_blacs_system_handle(handle_);
    }

    int context() const { return context_; }

private:
    int handle_;
    int context_;
};

} // namespace bench

#endif
