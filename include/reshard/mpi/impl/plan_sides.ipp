// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_PLAN_SIDES_IPP
#define RESHARD_MPI_IMPL_PLAN_SIDES_IPP

#include <reshard/mpi/plan_sides.hpp>

#include <reshard/bind/overlap.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/digest.hpp>
#include <reshard/expr/fit_shapes.hpp>
#include <reshard/layout/cover.hpp>
#include <reshard/mpi/gather_layouts.hpp>
#include <reshard/mpi/node_ranks.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/shard_index.hpp>
#include <reshard/tensor/join_neighbours.hpp>

#include <algorithm>
#include <cstdint>

namespace reshard {

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

RESHARD_DECL bool two_sides::are_known() const { return source.layout && target.layout; }

RESHARD_DECL void gather_unknown(mpi_group const& ranks, known_side& side) {
    if (!side.layout)
        side.layout = compact_layout_of(layout_of_all(ranks, side.held));
}

/// The same, where ranks tell of neighbours in memory as one shard. True if that is what they hold
/// now.
///
/// \par Collective every rank of the group, in the same order
inline bool gather_joined(mpi_group const& ranks, known_side& side) {
    if (side.layout)
        return false;
    side.layout = compact_layout_of(layout_of_all(ranks, side.joined));
    return true;
}

/// True where source shards share elements without being equal: replicas that one rank has in one
/// piece of memory, and another one in several. Shards that have no more elements than the tensor
/// are none.
inline bool has_unequal_replicas(compact_layout const& whole) {
    return std::ranges::any_of(whole.spreads, [](tensor_spread const& one) {
        tensor_shards const shards = one.view();
        std::uint64_t held = 0; // of many replicas, more than a tensor may have
        for (std::size_t i = 0; i < shards.size(); ++i)
            held += static_cast<std::uint64_t>(shards.elements(i));
        return held != static_cast<std::uint64_t>(element_count(one.shape)) &&
               find_overlap(shard_index(shards).listed_boxes()).has_value();
    });
}

/// The same for sources, which have to be equal where they are replicas: else as ranks hold them.
///
/// \par Collective every rank of the group, in the same order
inline bool gather_joined_sources(mpi_group const& ranks, known_side& side) {
    if (!gather_joined(ranks, side))
        return false;
    if (!has_unequal_replicas(*side.layout))
        return true;
    side.layout.reset();
    gather_unknown(ranks, side);
    return false;
}

/// Plans what this process gives and gets, between layouts that all ranks know. Communicates with
/// nobody.
inline looked_up plan_of_known(two_sides&& sides, std::optional<mapping> program, holder_t rank,
                               redistribute_options const& options) {
    looked_up result{{}, std::move(*sides.source.layout), std::move(*sides.target.layout), {}};
    result.program = fit_shapes(program ? std::move(*program)
                                        : by_name(catalog_of(result.source), result.target),
                                result.target, options.allow_shape_mismatch);
    holder_set const me({rank});
    result.whole = make_plan(problem_of(result.program, result.source, result.target), {me, me},
                             plan_options_of(options));
    return result;
}

/// True where there is a choice of who gives.
inline bool has_replicas(tensor_shards const& shards) {
    if (shards.grid())
        return shards.grid()->replicas() > 1;
    if (shards.grids())
        return std::ranges::any_of(shards.grids()->grids(),
                                   [](flat_grid const& one) { return one.replicas() > 1; });
    shard_index const index(shards);
    for (std::size_t i = 0; i < index.size(); ++i)
        if (index.replicas(i) > 1)
            return true;
    return false;
}

/// The options with the nodes that are there, where they matter.
///
/// \par Collective every rank of the group, in the same order
inline redistribute_options with_nodes_for(compact_layout const& source, mpi_group const& ranks,
                                           redistribute_options const& options) {
    bool const matters = options.processes_per_node == 0 && ranks.size() > 1 &&
                         std::ranges::any_of(source.spreads, [](tensor_spread const& one) {
                             return has_replicas(one.view());
                         });
    return matters ? with_nodes(ranks, options) : options;
}

RESHARD_DECL looked_up plan_for(mpi_group const& ranks, two_sides&& sides,
                                std::optional<mapping> program,
                                redistribute_options const& options) {
    bool const is_small = static_cast<holder_t>(ranks.size()) <= options.gather_up_to;
    if (!sides.are_known() && !is_small)
        return look_up(ranks, sides.source, sides.target, std::move(program),
                       with_nodes(ranks, options));
    bool const source_is_joined = gather_joined_sources(ranks, sides.source);
    bool const target_is_joined = gather_joined(ranks, sides.target);
    auto const sized = with_nodes_for(*sides.source.layout, ranks, options);
    looked_up result;
    agree_on(ranks, [&] {
        result = plan_of_known(std::move(sides), std::move(program),
                               static_cast<holder_t>(ranks.rank()), sized);
        result.source_is_joined = source_is_joined;
        result.target_is_joined = target_is_joined;
    });
    return result;
}

RESHARD_DECL looked_up plan_job(mpi_group const& ranks, laid_out<const_tensor_view>& source,
                                laid_out<tensor_view>& target, std::optional<mapping> program,
                                redistribute_options const& options) {
    two_sides sides{known_by_some(ranks, source, "source"), known_by_some(ranks, target, "target")};
    agree_on(ranks, [&] {
        if (!sides.source.layout)
            sides.source.joined = join_neighbours(source.held).descriptors();
        if (!sides.target.layout)
            sides.target.joined = join_neighbours(target.held).descriptors();
    });
    return plan_for(ranks, std::move(sides), std::move(program), options);
}

} // namespace detail

} // namespace reshard

#endif
