// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "calls.hpp"

#include <reshard/core/error.hpp>

namespace portable_mpi {

namespace {

calls const* table_in_use = nullptr;

} // namespace

calls const& used() {
    if (!table_in_use)
        reshard::fail(reshard::errc::unsupported,
                      "several processes need mpi4py, which brings the MPI library; install mpi4py "
                      "(pip install mpi4py), or start one process, without mpiexec");
    return *table_in_use;
}

void use(calls const& table) { table_in_use = &table; }

} // namespace portable_mpi
