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

/// A rank of a group, and the number of ranks.
struct group_place {
    holder_t me = 0;
    holder_t ranks = 1;
};

/// A plan made before the call, and a number that is equal on all ranks with that plan.
struct made_plan {
    std::shared_ptr<planned_job const> planned;
    std::uint64_t digest = 0;
};

/// Makes the transfers of one rank from a plan that all ranks have.
struct plan_maker {
    /// \throws error with errc::bad_layout or errc::usage if the sides or the group do not fit the
    ///         plan
    made_plan (*make)(source_tensors const& have, target_tensors const& want, group_place at);
};

/// Binds a plan that was made before the call.
///
/// \throws the errors of `prepare` of a typed plan
RESHARD_DECL job prepare_made(solo const& alone, plan_maker const& plan, source_tensors have,
                              target_tensors want, device_list const& devices);

} // namespace detail

/// Plans how `want` is filled from `have` in a group of one, and binds the plan to their memory;
/// `run` moves the bytes. It works as over MPI (see `reshard/mpi/redistribute.hpp`), for code that
/// takes any group and for programs without MPI.
///
/// \throws the errors of `layout_of`, `problem_of` and `make_plan`; errc::memory_overlap if a
///         target shares memory with another tensor. No element is written then
RESHARD_DECL job prepare(solo const& alone, source_tensors have, target_tensors want,
                         options const& options = {});

/// Fills the tensors of `want` from the tensors of `have`: by name, or by `options.program`. Before
/// any element moves, source tensors that the program relates as copies are compared.
///
/// \throws the errors of `prepare`; errc::overlap if copies differ
RESHARD_DECL void redistribute(solo const& alone, source_tensors have, target_tensors want,
                               options const& options = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/redistribute.ipp>
#endif

#endif
