// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_PREPARE_CACHED_IPP
#define RESHARD_MPI_IMPL_PREPARE_CACHED_IPP

#include <reshard/mpi/prepare_cached.hpp>

#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/bind_job.hpp>
#include <reshard/mpi/plan_sides.hpp>
#include <reshard/plan/plan_digest.hpp>
#include <reshard/tensor/join_neighbours.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace reshard {

RESHARD_DECL
cached_redistribution::cached_redistribution(std::unique_ptr<detail::prepared_state> state,
                                             bool was_kept)
    : state_(std::move(state)), was_kept_(was_kept) {}

RESHARD_DECL
cached_redistribution::cached_redistribution(cached_redistribution&& other) noexcept = default;
RESHARD_DECL cached_redistribution&
cached_redistribution::operator=(cached_redistribution&& other) noexcept = default;
RESHARD_DECL cached_redistribution::~cached_redistribution() = default;

RESHARD_DECL void run(cached_redistribution& all) { detail::owned(all.state_).moving->run(); }

RESHARD_DECL process_cost const& cached_redistribution::cost() const {
    return detail::owned(state_).cost;
}

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

RESHARD_DECL bool everywhere(mpi_group const& ranks, bool mine) {
    auto const all = gather_values(ranks, std::uint8_t{mine});
    return std::count(all.begin(), all.end(), 1) == ranks.size();
}

} // namespace detail

RESHARD_DECL cached_redistribution prepare_cached(mpi_group const& world, plan_cache& kept,
                                                  laid_out<const_tensor_view> source,
                                                  laid_out<tensor_view> target,
                                                  redistribution how) {
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
