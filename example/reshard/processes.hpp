// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PROCESSES_HPP
#define RESHARD_TOOL_PROCESSES_HPP

#include <reshard/core/vector.hpp>
#include <reshard/group/solo.hpp>

#include <memory>
#include <string>

/// \file
/// The processes of the tool: a single process, or the processes of an mpiexec.

namespace reshard {

class mpi_group;

} // namespace reshard

namespace tool {

/// Whether the launcher of Open MPI, MPICH or Slurm has started this process.
bool is_launched();

/// A group for the library. MPI is started only if an mpiexec started the tool, since starting it
/// takes time.
class processes {
public:
    /// The processes of an mpiexec if one started this process, else this process alone.
    processes();
    /// The processes of a group.
    explicit processes(reshard::mpi_group const& world);
    /// This process alone, even if an mpiexec started it.
    explicit processes(reshard::solo alone);
    ~processes();

    int rank() const;
    int size() const;
    reshard::vector<std::string> all_gather(std::string const& bytes) const;

    /// The group of an mpiexec or of the caller; null if the tool runs alone.
    reshard::mpi_group const* mpi() const;

    /// Ends all processes after an unexpected error in one of them.
    [[noreturn]] void abort() const;

private:
    struct started_mpi;
    std::unique_ptr<started_mpi> mpi_; ///< null if the tool runs alone
};

static_assert(reshard::group<processes>);

} // namespace tool

#endif
