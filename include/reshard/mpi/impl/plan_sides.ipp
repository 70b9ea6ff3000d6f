// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_PLAN_SIDES_IPP
#define RESHARD_MPI_IMPL_PLAN_SIDES_IPP

#include <reshard/mpi/plan_sides.hpp>

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/layout/cover.hpp>
#include <reshard/mpi/look_up.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/plan/plan_digest.hpp>
#include <reshard/plan/shard_index.hpp>
#include <reshard/tensor/join_neighbours.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard::detail {

/// \throws error with errc::usage where other ranks made the arena
inline void check_arena(mpi_group const& world, shared_arena const* arena) {
    int how = MPI_IDENT;
    if (arena)
        MPI_Comm_compare(world.base(), arena->state()->world.base(), &how);
    if (how != MPI_IDENT && how != MPI_CONGRUENT)
        fail(errc::usage, "the arena was made by ranks other than the ", world.size(),
             " of this redistribution, or in another order; make one over the same communicator");
}

RESHARD_DECL compared_values alike_in_call(options const& how, source_tensors const& have,
                                           target_tensors const& want) {
    compared_values alike = alike_in_call(how);
    alike.add_presence("an arena of its sources", have.arena != nullptr);
    alike.add_presence("an arena of its targets", want.arena != nullptr);
    alike.add_digest("arena of its sources", have.arena ? have.arena->state()->number : 0);
    alike.add_digest("arena of its targets", want.arena ? want.arena->state()->number : 0);
    return alike;
}

RESHARD_DECL local_error check_call(mpi_group const& world, source_tensors const& have,
                                    target_tensors const& want, options const& how) {
    return attempt([&] {
        check_call(have, want, how);
        check_arena(world, have.arena);
        check_arena(world, want.arena);
    });
}

template <class View>
known_side side_of(side<View> const& given) {
    known_side known{given.layout, given.tensors.descriptors(), {}};
    if (!given.layout)
        known.joined = join_neighbours(given.tensors).descriptors();
    return known;
}

RESHARD_DECL two_sides sides_of(source_tensors const& have, target_tensors const& want) {
    return {side_of(have), side_of(want), false};
}

/// Every rank learns the layout of a side that some rank knows.
///
/// \par Collective every rank of the group, in the same order
inline void learn(mpi_group const& ranks, known_side& side, std::string_view what) {
    auto const count = static_cast<std::size_t>(ranks.size());
    side.layout = replicate_known(ranks, std::move(side.layout), what);
    if (side.layout && side.layout->holders > count)
        fail(errc::bad_layout, "the layout of the ", what, " is for ", side.layout->holders,
             " ranks, and the group has ", count);
}

/// \par Collective every rank of the group, in the same order
inline void learn(mpi_group const& ranks, two_sides& sides) {
    if (std::exchange(sides.are_learned, true))
        return;
    learn(ranks, sides.source, "source");
    learn(ranks, sides.target, "target");
}

/// \par Collective every rank of the group, in the same order
inline catalog catalog_for(mpi_group const& ranks, known_side const& side) {
    return side.layout ? catalog_of(*side.layout) : gather_catalog(ranks, side.held);
}

/// A mapping with what it is not made of, for ranks that have none.
struct told_mapping {
    std::string bytes;
    std::vector<std::string> left_over;

    static constexpr void members(auto& self, auto&& visit) { visit(self.bytes, self.left_over); }
};

/// The mapping of the lowest rank that has one, on every rank, where some have none.
///
/// \param  has by rank
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike: errc::ranks_disagree where ranks have different ones
inline mapping mapping_of_others(mpi_group const& ranks, std::vector<std::uint8_t> const& has,
                                 mapping made) {
    auto const first = static_cast<int>(std::ranges::find(has, 1) - has.begin());
    told_mapping mine;
    if (ranks.rank() == first)
        mine = {to_bytes(made), made.left_over()};
    auto const told = gather_values(ranks, mine)[static_cast<std::size_t>(first)];
    mapping theirs = from_bytes<mapping>(told.bytes);
    for (std::string const& key : told.left_over)
        theirs.leave_over(key);
    agree_on(ranks, [&] {
        if (has[static_cast<std::size_t>(ranks.rank())] && digest_of(made) != digest_of(theirs))
            fail(errc::ranks_disagree, "rank ", first, " and rank ", ranks.rank(),
                 " have programs that make different mappings; every rank that has one must have "
                 "the same");
    });
    return theirs;
}

RESHARD_DECL std::optional<mapping> mapping_of_call(mpi_group const& ranks,
                                                    any_program const& program, two_sides& sides) {
    if (mapping const* const known = program.known())
        return *known;
    if (program.is_by_name())
        return std::nullopt;
    learn(ranks, sides);
    catalog const source = catalog_for(ranks, sides.source);
    catalog const target = catalog_for(ranks, sides.target);
    mapping made;
    std::uint64_t digest = 0;
    auto const problem = attempt([&] {
        made = (*program.made())(source, &target);
        digest = digest_of(made);
    });
    auto const has = gather_values(ranks, std::uint8_t{!program.is_of_other_ranks()});
    bool const some_have = std::ranges::count(has, 1) > 0;
    if (some_have && std::ranges::count(has, 0) > 0) {
        agree(ranks, program.is_of_other_ranks() ? std::nullopt : problem);
        return mapping_of_others(ranks, has, std::move(made));
    }
    agree_on_digest(ranks, "a program that makes a mapping", digest, problem);
    return made;
}

/// Every rank learns all shards of a side that none knows.
///
/// \par Collective every rank of the group, in the same order
inline void gather_unknown(mpi_group const& ranks, known_side& side) {
    if (!side.layout)
        side.layout = layout_of_all(ranks, side.held);
}

/// Every rank learns all shards of a side that none knows, where ranks tell of neighbours in memory
/// as one shard. True if that is what they hold now.
///
/// \par Collective every rank of the group, in the same order
inline bool gather_joined(mpi_group const& ranks, known_side& side) {
    if (side.layout)
        return false;
    side.layout = layout_of_all(ranks, side.joined);
    return true;
}

/// True where source shards share elements without being equal: replicas that one rank has in one
/// piece of memory, and another one in several. Shards that have no more elements than the tensor
/// are none.
inline bool has_unequal_replicas(layout const& whole) {
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

/// The nodes that are there, where they matter. Where they are unlike one another, or are one,
/// nothing is passed on.
///
/// \par Collective every rank of the group, in the same order
inline plan_options nodes_for(layout const& source, mpi_group const& ranks, options const& how) {
    bool const matters = how.relays || std::ranges::any_of(source.spreads, [](auto const& spread) {
                             return shard_index(spread.view()).most_replicas() > 1;
                         });
    plan_options nodes = matters ? with_nodes(ranks, how.processes_per_node)
                                 : plan_options{.processes_per_node = how.processes_per_node};
    nodes.relays = how.relays && nodes.processes_per_node > 0;
    return nodes;
}

/// Plans without looking for plans from before.
///
/// \par Collective every rank of the group, in the same order
inline std::shared_ptr<planned_job const> plan_anew(mpi_group const& ranks, two_sides& sides,
                                                    std::optional<mapping> program,
                                                    options const& how) {
    learn(ranks, sides);
    bool const are_known = sides.source.layout && sides.target.layout;
    if (!are_known && static_cast<holder_t>(ranks.size()) > how.gather_up_to)
        return look_up(ranks, sides.source, sides.target, std::move(program), how);
    auto planned = std::make_shared<planned_job>();
    planned->source_is_joined = gather_joined_sources(ranks, sides.source);
    planned->target_is_joined = gather_joined(ranks, sides.target);
    auto const nodes = nodes_for(*sides.source.layout, ranks, how);
    agree_on(ranks, [&] {
        planned->source = std::move(*sides.source.layout);
        planned->target = std::move(*sides.target.layout);
        holder_set const me({static_cast<holder_t>(ranks.rank())});
        fit_program(*planned, std::move(program), {how.strict, how.shape_mismatch});
        plan_transfers(*planned, {me, me}, nodes);
    });
    return planned;
}

inline void add_side(hasher& digest, known_side const& side) {
    digest.add(std::uint64_t{side.held.size()});
    for (shard_descriptor const& shard : side.held)
        digest.add(digest_of(shard));
    for (shard_descriptor const& shard : side.joined)
        digest.add(digest_of(shard));
    digest.add(side.layout ? digest_of(*side.layout) : 0);
}

/// A digest of what every rank holds and does, and of which of them this is.
///
/// \par Collective every rank of the group, in the same order
inline std::uint64_t digest_of_all(mpi_group const& ranks, std::uint64_t call,
                                   two_sides const& sides) {
    hasher mine;
    agree_on(ranks, [&] {
        add_side(mine, sides.source);
        add_side(mine, sides.target);
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

RESHARD_DECL known_plan plan_of_call(mpi_group const& ranks, two_sides& sides,
                                     std::optional<mapping> program, options const& how) {
    if (!how.cache)
        return {plan_anew(ranks, sides, std::move(program), how), false};
    hasher call;
    call.add(alike_in_call(how).digest());
    call.add(program ? digest_of_all(digest_of(*program), program->left_over()) : 0);
    std::uint64_t const digest = digest_of_all(ranks, call.value(), sides);
    plan_cache::pointer kept = how.cache->find(digest);
    if (everywhere(ranks, kept != nullptr))
        return {std::move(kept), true};
    return {how.cache->add(digest, plan_anew(ranks, sides, std::move(program), how)), false};
}

RESHARD_DECL planned_rounds plan_rounds_of(mpi_group const& ranks, two_sides sides,
                                           std::optional<mapping> program, options const& how) {
    learn(ranks, sides);
    gather_unknown(ranks, sides.source);
    gather_unknown(ranks, sides.target);
    auto const nodes = with_nodes(ranks, how.processes_per_node);
    planned_rounds planned;
    agree_on(ranks, [&] {
        auto all = std::make_shared<planned_job>();
        all->source = std::move(*sides.source.layout);
        all->target = std::move(*sides.target.layout);
        planned = plan_in_rounds(
            std::move(all), std::move(program), how,
            {static_cast<holder_t>(ranks.rank()), static_cast<holder_t>(ranks.size()), nodes});
    });
    return planned;
}

} // namespace reshard::detail

#endif
