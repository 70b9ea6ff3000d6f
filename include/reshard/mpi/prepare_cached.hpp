// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_PREPARE_CACHED_HPP
#define RESHARD_MPI_PREPARE_CACHED_HPP

#include <reshard/group/gather_values.hpp>
#include <reshard/layout/hash.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/mpi/redistribution.hpp>
#include <reshard/plan/digest_cache.hpp>
#include <reshard/plan/plan_digest.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

/// \file
/// Redistributions that are prepared again and again: planned once, and again when a rank's tensors change.

namespace reshard {

/// The plans of one rank, and what they belong to, by a digest of what all ranks hold.
using plan_cache = digest_cache<looked_up>;

/// A redistribution that is ready to run, as `prepared`; its plan may have been made before.
///
/// One that was moved from is as a `prepared` that was; `was_kept` still answers.
class cached_redistribution {
public:
    /// Moves the bytes.
    ///
    /// \par Collective every rank of the communicator, in the same order
    friend void run(cached_redistribution& all) { detail::owned(all.state_).moving->run(); }

    /// What this process gives and gets.
    process_cost const& cost() const { return detail::owned(state_).cost; }

    /// True where nothing has changed on any rank, and no rank planned; the same on every rank.
    bool was_kept() const { return was_kept_; }

private:
    cached_redistribution(std::unique_ptr<detail::prepared_state> state, bool was_kept)
        : state_(std::move(state)), was_kept_(was_kept) {}

    friend cached_redistribution prepare_cached(mpi_group const& world, plan_cache& kept,
                                                laid_out<const_tensor_view> source,
                                                laid_out<tensor_view> target, redistribution how);

    std::unique_ptr<detail::prepared_state> state_;
    bool was_kept_;
};

namespace detail {

template <class View>
void add_side(hasher& digest, laid_out<View> const& side) {
    digest.add(std::uint64_t{side.held.size()});
    for (auto const& [descriptor, tensor] : side.held)
        digest.add(digest_of(descriptor));
    for (auto const& [descriptor, tensor] : join_neighbours(side.held))
        digest.add(digest_of(descriptor));
    digest.add(side.layout ? digest_of(*side.layout) : 0);
}

/// A digest of what every rank holds and does, and of which of them this is.
///
/// \par Collective every rank of the group, in the same order
inline std::uint64_t digest_of_all(mpi_group const& ranks, std::uint64_t call,
                                   laid_out<const_tensor_view> const& source,
                                   laid_out<tensor_view> const& target) {
    hasher mine;
    agree_on(ranks, [&] {
        add_side(mine, source);
        add_side(mine, target);
    });
    hasher all;
    all.add(planner_version);
    all.add(call);
    all.add(static_cast<std::uint64_t>(ranks.rank()));
    for (std::uint64_t const digest : gather_values(ranks, mine.value()))
        all.add(digest);
    return all.value();
}

/// True where `mine` is, on every rank.
///
/// \par Collective every rank of the group, in the same order
inline bool everywhere(mpi_group const& ranks, bool mine) {
    auto const all = gather_values(ranks, std::uint8_t{mine});
    return std::count(all.begin(), all.end(), 1) == ranks.size();
}

} // namespace detail

/// `prepare`, without gathering and planning where `kept` has the plan from before.
///
/// Every time, the ranks compare a digest of what each of them holds, of the program, and of the
/// options. Where it is known on every rank nothing else is told; a change on any rank, or a rank
/// that has forgotten the plan, makes all of them plan, and keep that.
///
/// \par Collective every rank of the group, in the same order, each with a cache of its own
/// \throws error as `prepare`, on every rank alike
/// \par Source Megatron-Core's assume_constant_structure is a promise of the caller, and a structure
///             that changed none the less corrupts a checkpoint; here it is planned anew
inline cached_redistribution prepare_cached(mpi_group const& world, plan_cache& kept,
                                            laid_out<const_tensor_view> source,
                                            laid_out<tensor_view> target, redistribution how = {}) {
    std::uint64_t const call = detail::digest_of_call(how.program, how.options);
    agree_to_run(world, "redistribute with kept plans",
                 detail::digest_of_call(call, source, target),
                 detail::check_call(world, source, target));
    mpi_group const ranks = mpi_group::duplicate_of(world);
    std::uint64_t const digest = detail::digest_of_all(ranks, call, source, target);
    plan_cache::pointer job = kept.find(digest);
    bool const was_kept = detail::everywhere(ranks, job != nullptr);
    if (!was_kept)
        job = kept.add(
            digest, detail::plan_job(ranks, source, target, std::move(how.program), how.options));
    auto state = std::make_unique<detail::prepared_state>();
    agree_on(ranks, [&] { state->planned = *job; });
    detail::bind_job(ranks, *state, source, target, how.options.on_node);
    return {std::move(state), was_kept};
}

} // namespace reshard

#endif
