// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_REDISTRIBUTE_HPP
#define RESHARD_BIND_REDISTRIBUTE_HPP

#include <reshard/bind/job.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/group/solo.hpp>

#include <cstdint>
#include <memory>

/// \file
/// Redistribution within one process.

namespace reshard {

namespace detail {

struct planned_job;

/// One rank of a group.
struct group_place {
    holder_t me = 0;
    holder_t ranks = 1;
};

/// A plan that was made before its ranks met, and a number that is the same on all that have it.
struct made_plan {
    std::shared_ptr<planned_job const> planned;
    std::uint64_t digest = 0;
};

/// Makes the part of one rank of a plan that all ranks have.
struct plan_maker {
    /// \throws error with errc::bad_layout, errc::usage if the sides or the group do not fit
    made_plan (*make)(source_tensors const& have, target_tensors const& want, group_place at);
};

/// Binds a plan that was made before.
///
/// \throws error as `prepare` of a typed plan
RESHARD_DECL job prepare_made(solo const& alone, plan_maker const& plan, source_tensors have,
                              target_tensors want);

} // namespace detail

/// Plans the filling of `want` from `have` in a group of one, and binds it to their memory; `run`
/// moves the bytes. The same as over MPI (see `reshard/mpi/redistribute.hpp`), for code over any
/// group and for programs that do not start MPI.
///
/// \throws error as `layout_of`, `problem_of` and `make_plan`, and with errc::memory_overlap if
///         a target shares memory with another tensor; nothing is written then
RESHARD_DECL job prepare(solo const& alone, source_tensors have, target_tensors want,
                         options const& options = {});

/// Fills the tensors of `want` from the tensors of `have`: by name, or as `options.program` says.
/// Before anything moves, source tensors that the program calls copies are compared.
///
/// \throws error as `prepare`, and with errc::overlap if copies differ
RESHARD_DECL void redistribute(solo const& alone, source_tensors have, target_tensors want,
                               options const& options = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/redistribute.ipp>
#endif

#endif
