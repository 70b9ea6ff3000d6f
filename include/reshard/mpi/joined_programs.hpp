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

/// The ranks of two jobs as one group: first the ranks of the first job. The jobs meet through a
/// file. The first job writes it; the second job waits for it and writes its answer to a second
/// file beside it. At the end both files are removed.
///
/// The launcher must support this: Open MPI 4 needs one `ompi-server`, and each job must be started
/// with `mpiexec --ompi-server file:URI`. From then on, MPI treats the jobs as one: if a process
/// dies, all processes end, and all must reach `MPI_Finalize`. Between jobs on one machine, a
/// bridge needs none of this.
///
/// \param file     a path that both jobs can access
/// \param is_first true in exactly one of the two jobs
/// \param longest  how long a job waits for the other job, and then for MPI to connect both (at
///                 least ten seconds). If MPI does not connect the jobs in that time, for example
///                 because the other job was killed, this job reports that and ends
/// \par Collective every rank of both jobs
/// \throws error on every rank, of both jobs if both have arrived: errc::deadline if the other job
///         has not arrived; errc::unsupported if the launcher cannot connect jobs;
///         errc::already_exists if `file` is another kind of file (it is not changed), or if
///         another first job waits there; errc::usage; errc::io
RESHARD_DECL mpi_group joined_programs(mpi_group const& side, std::string const& file,
                                       bool is_first, detail::wait_duration longest);

/// The processes on both sides of an intercommunicator as a group for `redistribute`. The processes
/// of the first side come first. Each side gives only its own tensors and layout.
///
/// \param is_first the same on all ranks of a side, and different on the two sides
/// \par Collective every rank of both sides
RESHARD_DECL mpi_group joint_group(boost::mpi::intercommunicator const& between, bool is_first);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/joined_programs.ipp>
#endif

#endif
