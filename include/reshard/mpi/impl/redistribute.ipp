// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_REDISTRIBUTE_IPP
#define RESHARD_MPI_IMPL_REDISTRIBUTE_IPP

#include <reshard/mpi/redistribute.hpp>

#include <reshard/group/agree.hpp>
#include <reshard/mpi/bind_job.hpp>
#include <reshard/mpi/plan_sides.hpp>

#include <cstdint>
#include <utility>

namespace reshard {

RESHARD_DECL prepared::prepared(std::unique_ptr<detail::prepared_state> all)
    : state_(std::move(all)) {}

RESHARD_DECL prepared::prepared(prepared&& other) noexcept = default;
RESHARD_DECL prepared& prepared::operator=(prepared&& other) noexcept = default;
RESHARD_DECL prepared::~prepared() = default;

RESHARD_DECL void run(prepared& all) { detail::owned(all.state_).moving->run(); }

RESHARD_DECL process_cost const& prepared::cost() const { return detail::owned(state_).cost; }

RESHARD_DECL compact_layout const& prepared::source_layout() const {
    return detail::owned(state_).planned.source;
}

RESHARD_DECL compact_layout const& prepared::target_layout() const {
    return detail::owned(state_).planned.target;
}

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
