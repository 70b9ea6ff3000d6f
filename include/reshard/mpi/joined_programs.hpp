// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_JOINED_PROGRAMS_HPP
#define RESHARD_MPI_JOINED_PROGRAMS_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>

#include <string>

/// \file
/// Jobs of MPI that were started apart become one group.

namespace boost::mpi {

class intercommunicator;

} // namespace boost::mpi

namespace reshard {

/// The ranks of two jobs as one group, the ranks of the first one in front. They meet through a
/// file: the first one writes it, the second one waits for it and answers beside it; at the end
/// both files are gone.
///
/// This needs support of the launcher: Open MPI 4 needs one `ompi-server`, and each job started
/// with `mpiexec --ompi-server file:URI`. From then on the jobs are one for MPI: if a process dies
/// all end, and all have to reach `MPI_Finalize`. On one machine a bridge needs none of this.
///
/// \param file     a path that both jobs reach
/// \param is_first true in one of both jobs
/// \param longest  that one waits for the other one to come, and then for MPI to connect both (ten
///                 seconds at least); a job that MPI does not connect in that time, as if the
///                 other one was killed meanwhile, says so and ends
/// \par Collective every rank of both jobs
/// \throws error on every rank, of both jobs if both have come: errc::deadline if the
///         other job has not; errc::unsupported if the launcher connects no jobs;
///         errc::already_exists if another file is at that path, which stays as it is, or
///         another first job; errc::usage; errc::io
RESHARD_DECL mpi_group joined_programs(mpi_group const& side, std::string const& file,
                                       bool is_first, detail::wait_duration longest);

/// The processes on both sides of an intercommunicator, as `redistribute` takes them: the processes
/// of the one side first. Each side gives its own tensors and layout, and none of the other one.
///
/// \param is_first the same on all ranks of a side, and another on the other one
/// \par Collective every rank of both sides
RESHARD_DECL mpi_group joint_group(boost::mpi::intercommunicator const& between, bool is_first);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/joined_programs.ipp>
#endif

#endif
