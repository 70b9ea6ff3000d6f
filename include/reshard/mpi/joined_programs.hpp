// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_JOINED_PROGRAMS_HPP
#define RESHARD_MPI_JOINED_PROGRAMS_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>

#include <string>

/// \file
/// Joins MPI jobs that were started separately into one group.

namespace boost::mpi {

class intercommunicator;

} // namespace boost::mpi

namespace reshard {

/// The ranks of two jobs as one group, with the first job's ranks in front. The jobs meet through a
/// file. The first job writes it; the second job waits for it and writes its answer to a second
/// file beside it. At the end both files are removed.
///
/// The launcher must support this: Open MPI 4 needs one `ompi-server`, and each job must be started
/// with `mpiexec --ompi-server file:URI`. From then on, MPI treats the jobs as one: if a process
/// dies, all processes end, and all must reach `MPI_Finalize`. On one machine, a bridge needs none
/// of this.
///
/// \param file     a path that both jobs reach
/// \param is_first true in exactly one of the two jobs
/// \param longest  how long a job waits for the other job, and then for MPI to connect both (ten
///                 seconds at least). A job that MPI does not connect in that time, for example
///                 because the other job was killed, reports that and ends
/// \par Collective every rank of both jobs
/// \throws error on every rank, of both jobs if both have come: errc::deadline if the other job has
///         not come; errc::unsupported if the launcher connects no jobs; errc::already_exists if a
///         different file is at that path (it is not changed), or another first job; errc::usage;
///         errc::io
RESHARD_DECL mpi_group joined_programs(mpi_group const& side, std::string const& file,
                                       bool is_first, detail::wait_duration longest);

/// The processes on both sides of an intercommunicator, as `redistribute` takes them: the processes
/// of one side first. Each side gives its own tensors and layout, and none of the other side.
///
/// \param is_first the same on all ranks of a side, and different on the two sides
/// \par Collective every rank of both sides
RESHARD_DECL mpi_group joint_group(boost::mpi::intercommunicator const& between, bool is_first);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/joined_programs.ipp>
#endif

#endif
