// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_REDISTRIBUTE_IPP
#define RESHARD_MPI_IMPL_REDISTRIBUTE_IPP

#include <reshard/mpi/redistribute.hpp>

#include <reshard/bind/overlap.hpp>
#include <reshard/expr/digest.hpp>

#include <string>

namespace reshard {

RESHARD_DECL process_cost const& prepared::cost() const { return detail::owned(state_).cost; }

RESHARD_DECL compact_layout const& prepared::source_layout() const {
    return detail::owned(state_).planned.source;
}

RESHARD_DECL compact_layout const& prepared::target_layout() const {
    return detail::owned(state_).planned.target;
}

namespace detail {

/// \throws error with errc::usage where other ranks made the arena
inline void check_arena(mpi_group const& world, shared_arena const* arena) {
    int how = MPI_IDENT;
    if (arena)
        MPI_Comm_compare(world.base(), arena->state()->world.base(), &how);
    if (how != MPI_IDENT && how != MPI_CONGRUENT)
        fail(errc::usage,
             "the arena was made by ranks other than the " + std::to_string(world.size()) +
                 " of this redistribution, or in another order; make one over the same "
                 "communicator");
}

RESHARD_DECL std::uint64_t digest_of_call(std::optional<mapping> const& program,
                                          redistribute_options const& options) {
    hasher digest;
    digest.add(program ? digest_of(*program) : 0);
    digest.add(digest_of(options));
    return digest.value();
}

RESHARD_DECL std::uint64_t digest_of_call(std::uint64_t call,
                                          laid_out<const_tensor_view> const& source,
                                          laid_out<tensor_view> const& target) {
    hasher digest;
    digest.add(call);
    digest.add(source.arena ? source.arena->state()->number : 0);
    digest.add(target.arena ? target.arena->state()->number : 0);
    return digest.value();
}

RESHARD_DECL local_error check_call(mpi_group const& world,
                                    laid_out<const_tensor_view> const& source,
                                    laid_out<tensor_view> const& target) {
    return attempt([&] {
        reshard::check_memory({&source.held, 1}, {&target.held, 1});
        check_arena(world, source.arena);
        check_arena(world, target.arena);
    });
}

} // namespace detail

RESHARD_DECL prepared prepare(mpi_group const& world, laid_out<const_tensor_view> source,
                              laid_out<tensor_view> target, std::optional<mapping> program,
                              redistribute_options const& options) {
    std::uint64_t const call = detail::digest_of_call(program, options);
    agree_to_run(world, "redistribute", detail::digest_of_call(call, source, target),
                 detail::check_call(world, source, target));
    mpi_group const ranks = mpi_group::duplicate_of(world); // apart from the caller's messages
    auto all = std::make_unique<detail::prepared_state>();
    all->planned = detail::plan_job(ranks, source, target, std::move(program), options);
    detail::bind_job(ranks, *all, source, target, options.on_node);
    return prepared(std::move(all));
}

RESHARD_DECL prepared prepare(mpi_group const& world, const_state_dict source, state_dict target,
                              std::optional<mapping> program, redistribute_options const& options) {
    return prepare(world, laid_out<const_tensor_view>{std::move(source)},
                   laid_out<tensor_view>{std::move(target)}, std::move(program), options);
}

RESHARD_DECL prepared prepare(mpi_group const& world, const_state_dict source, state_dict target,
                              redistribute_options const& options) {
    return prepare(world, std::move(source), std::move(target), std::nullopt, options);
}

RESHARD_DECL void redistribute(mpi_group const& world, laid_out<const_tensor_view> source,
                               laid_out<tensor_view> target, std::optional<mapping> program,
                               redistribute_options const& options) {
    prepared all =
        prepare(world, std::move(source), std::move(target), std::move(program), options);
    run(all);
}

RESHARD_DECL void redistribute(mpi_group const& world, const_state_dict const& source,
                               state_dict const& target, redistribute_options const& options) {
    prepared all = prepare(world, source, target, std::nullopt, options);
    run(all);
}

RESHARD_DECL void redistribute(mpi_group const& world, const_state_dict const& source,
                               state_dict const& target, mapping const& program,
                               redistribute_options const& options) {
    prepared all = prepare(world, source, target, program, options);
    run(all);
}

} // namespace reshard

#endif
