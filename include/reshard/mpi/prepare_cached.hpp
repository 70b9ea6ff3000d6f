// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_PREPARE_CACHED_HPP
#define RESHARD_MPI_PREPARE_CACHED_HPP

#include <reshard/core/config.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/mpi/redistribution.hpp>
#include <reshard/plan/digest_cache.hpp>

#include <memory>
#include <utility>

/// \file
/// Redistributions that are prepared again and again: planned once, and again when a rank's tensors
/// change.

namespace reshard {

struct looked_up;

/// The plans of one rank, and what they belong to, by a digest of what all ranks hold.
using plan_cache = digest_cache<looked_up>;

/// A redistribution that is ready to run, as `prepared`; its plan may have been made before.
///
/// One that was moved from is as a `prepared` that was; `was_kept` still answers.
class cached_redistribution {
public:
    cached_redistribution(cached_redistribution&& other) noexcept;
    cached_redistribution& operator=(cached_redistribution&& other) noexcept;
    ~cached_redistribution();

    /// Moves the bytes.
    ///
    /// \par Collective every rank of the communicator, in the same order
    friend void run(cached_redistribution& all);

    /// What this process gives and gets.
    process_cost const& cost() const;

    /// True where nothing has changed on any rank, and no rank planned; the same on every rank.
    bool was_kept() const { return was_kept_; }

private:
    cached_redistribution(std::unique_ptr<detail::prepared_state> state, bool was_kept);

    friend cached_redistribution prepare_cached(mpi_group const& world, plan_cache& kept,
                                                laid_out<const_tensor_view> source,
                                                laid_out<tensor_view> target, redistribution how);

    std::unique_ptr<detail::prepared_state> state_;
    bool was_kept_;
};

namespace detail {

/// True where `mine` is, on every rank.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL bool everywhere(mpi_group const& ranks, bool mine);

} // namespace detail

/// `prepare`, without gathering and planning where `kept` has the plan from before.
///
/// Every time, the ranks compare a digest of what each of them holds, of the program, and of the
/// options. Where it is known on every rank nothing else is told; a change on any rank, or a rank
/// that has forgotten the plan, makes all of them plan, and keep that.
///
/// \par Collective every rank of the group, in the same order, each with a cache of its own
/// \throws error as `prepare`, on every rank alike
/// \par Source Megatron-Core's assume_constant_structure is a promise of the caller, and a
///             structure that changed none the less corrupts a checkpoint; here it is planned anew
RESHARD_DECL cached_redistribution prepare_cached(mpi_group const& world, plan_cache& kept,
                                                  laid_out<const_tensor_view> source,
                                                  laid_out<tensor_view> target,
                                                  redistribution how = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/prepare_cached.ipp>
#endif

#endif
