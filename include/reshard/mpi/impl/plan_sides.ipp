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
#include <reshard/mpi/directory_query.hpp>
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
    int mode = MPI_IDENT;
    if (arena)
        MPI_Comm_compare(world.base(), arena->state()->world.base(), &mode);
    if (mode != MPI_IDENT && mode != MPI_CONGRUENT)
        fail(errc::usage, "the arena was made by ranks other than the ", world.size(),
             " of this redistribution, or in another order; make one over the same communicator");
}

RESHARD_DECL compared_values call_fingerprint(options const& options, source_tensors const& have,
                                              target_tensors const& want) {
    compared_values fingerprint = call_fingerprint(options);
    fingerprint.add_presence("an arena of its sources", have.arena != nullptr);
    fingerprint.add_presence("an arena of its targets", want.arena != nullptr);
    fingerprint.add_digest("arena of its sources", have.arena ? have.arena->state()->number : 0);
    fingerprint.add_digest("arena of its targets", want.arena ? want.arena->state()->number : 0);
    return fingerprint;
}

RESHARD_DECL local_error check_call(mpi_group const& world, source_tensors const& have,
                                    target_tensors const& want, options const& options) {
    return attempt([&] {
        check_call(have, want, options);
        check_arena(world, have.arena);
        check_arena(world, want.arena);
    });
}

template <class View>
known_side side_of(side<View> const& side) {
    known_side known_side{side.layout, side.tensors.descriptors(), {}};
    if (!side.layout)
        known_side.joined = join_neighbours(side.tensors).descriptors();
    return known_side;
}

RESHARD_DECL two_sides sides_of(source_tensors const& have, target_tensors const& want) {
    return {side_of(have), side_of(want)};
}

inline void add_side(hasher& digest, known_side const& side) {
    digest.add(std::uint64_t{side.held.size()});
    for (shard_descriptor const& shard : side.held)
        digest.add(digest_of(shard));
    for (shard_descriptor const& shard : side.joined)
        digest.add(digest_of(shard));
    digest.add(side.layout ? digest_of(*side.layout) : 0);
}

/// A digest of what this rank does.
inline std::uint64_t own_digest_of(options const& options, std::uint64_t sides, int rank) {
    return digest_of_all(planner_version, call_fingerprint(options).digest(), sides, rank);
}

inline side_notice notice_of(known_side const& side, bool tells_shards, options const& options) {
    side_notice notice;
    if (tells_shards)
        notice.spread = notice_of(side.layout, options.allocate ? side.held : side.joined);
    else
        notice.spread = notice_of(side.layout, {});
    if (!side.layout && options.program.made())
        notice.cuts = cuts_of(side.held);
    return notice;
}

RESHARD_DECL call_notice notice_of(mpi_group const& world, two_sides const& own,
                                   options const& options) {
    call_notice notice;
    notice.tells_shards =
        !options.cache &&
        (options.allocate || static_cast<holder_t>(world.size()) <= options.gather_up_to);
    notice.source = notice_of(own.source, notice.tells_shards, options);
    notice.target = notice_of(own.target, notice.tells_shards, options);
    notice.machine = machine_name();
    if (!options.cache)
        return notice;
    hasher sides;
    add_side(sides, own.source);
    add_side(sides, own.target);
    notice.digest = sides.value();
    std::uint64_t const mine = own_digest_of(options, notice.digest, world.rank());
    if (auto const* const kept = options.cache->latest(
            [&](planned_job const& planned) { return planned.own_digest == mine; }))
        notice.latest_plan = kept->group_digest;
    return notice;
}

/// One side of each notice.
template <class T>
std::vector<T> each_side(std::vector<call_notice> const& notices, bool is_source,
                         T side_notice::*member) {
    std::vector<T> values;
    for (call_notice const& notice : notices)
        values.push_back((is_source ? notice.source : notice.target).*member);
    return values;
}

/// Sends the layout of a side if only some ranks know it.
///
/// \par Collective every rank of the group, in the same order
inline std::optional<layout> share_layout(mpi_group const& ranks, std::optional<layout> layout,
                                          std::vector<layout_notice> const& notices,
                                          std::string_view side) {
    layout = share_known(ranks, std::move(layout), digests_of(notices), side);
    auto const count = static_cast<std::size_t>(ranks.size());
    if (layout && layout->holders > count)
        fail(errc::bad_layout, "the layout of the ", side, " is for ", layout->holders,
             " ranks, and the group has ", count);
    return layout;
}

RESHARD_DECL call_facts facts_of_call(mpi_group const& ranks, two_sides own,
                                      std::vector<std::string> const& digests) {
    call_facts facts{std::move(own), {}, {}};
    for (std::string const& bytes : digests)
        facts.notices.push_back(content_from<call_notice>(bytes, "notice of another rank"));
    std::vector<std::string> machines;
    for (call_notice const& notice : facts.notices)
        machines.push_back(notice.machine);
    facts.nodes = nodes_of(machines);
    auto const share = [&](std::optional<layout>& layout, bool is_source, std::string_view side) {
        layout = share_layout(ranks, std::move(layout),
                              each_side(facts.notices, is_source, &side_notice::spread), side);
    };
    share(facts.sides.source.layout, true, "source");
    share(facts.sides.target.layout, false, "target");
    return facts;
}

inline catalog catalog_for(call_facts const& facts, bool is_source) {
    known_side const& side = is_source ? facts.sides.source : facts.sides.target;
    return side.layout ? catalog_of(*side.layout)
                       : merge_cuts(each_side(facts.notices, is_source, &side_notice::cuts));
}

/// A mapping with what it is not made of, for ranks that have none.
struct shipped_mapping {
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
                                 mapping new_mapping) {
    auto const first = static_cast<int>(std::ranges::find(has, 1) - has.begin());
    shipped_mapping shipped_mapping;
    if (ranks.rank() == first)
        shipped_mapping = {to_bytes(new_mapping), new_mapping.left_over()};
    auto const received = gather_values(ranks, shipped_mapping)[static_cast<std::size_t>(first)];
    mapping mapping_of_first = from_bytes<mapping>(received.bytes);
    for (std::string const& key : received.left_over)
        mapping_of_first.leave_over(key);
    agree_on(ranks, [&] {
        if (has[static_cast<std::size_t>(ranks.rank())] &&
            digest_of(new_mapping) != digest_of(mapping_of_first))
            fail(errc::ranks_disagree, "rank ", first, " and rank ", ranks.rank(),
                 " have programs that make different mappings; every rank that has one must have "
                 "the same");
    });
    return mapping_of_first;
}

/// What a rank tells of the mapping that its program makes.
struct mapping_notice {
    bool has_program = false;
    std::string problem; ///< as `encode` writes it
    std::uint64_t digest = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.has_program, self.problem, self.digest);
    }
};

/// \throws error the lowest failing rank's
inline void throw_first(std::vector<mapping_notice> const& notices) {
    for (mapping_notice const& notice : notices)
        if (auto const problem = decode(notice.problem))
            throw error(*problem);
}

/// \throws error with errc::ranks_disagree
inline void check_equal(std::vector<mapping_notice> const& notices) {
    for (std::size_t rank = 1; rank < notices.size(); ++rank)
        if (notices[rank].digest != notices[0].digest)
            fail(errc::ranks_disagree, "rank 0 has a program that makes a mapping with digest ",
                 notices[0].digest, ", and rank ", rank, " one with digest ", notices[rank].digest,
                 "; every rank must have the same");
}

RESHARD_DECL std::optional<mapping>
mapping_of_call(mpi_group const& ranks, any_program const& program, call_facts const& facts) {
    if (mapping const* const mapping = program.known())
        return *mapping;
    if (program.is_by_name())
        return std::nullopt;
    mapping mapping;
    mapping_notice own_notice{!program.is_of_other_ranks(), {}, 0};
    own_notice.problem = encode(attempt([&] {
        catalog const target = catalog_for(facts, false);
        mapping = (*program.made())(catalog_for(facts, true), &target);
        own_notice.digest = digest_of(mapping);
    }));
    std::vector<mapping_notice> notices = gather_values(ranks, own_notice);
    auto const owners = std::ranges::count(notices, true, &mapping_notice::has_program);
    if (owners == 0 || owners == ranks.size()) {
        throw_first(notices);
        check_equal(notices);
        return mapping;
    }
    std::vector<std::uint8_t> has;
    for (mapping_notice& notice : notices) {
        has.push_back(notice.has_program);
        if (!notice.has_program)
            notice.problem.clear(); // it is the lack of a program
    }
    throw_first(notices);
    return mapping_of_others(ranks, has, std::move(mapping));
}

/// True where source shards share elements without being equal: replicas that one rank has in one
/// piece of memory, and another one in several. Shards that have no more elements than the tensor
/// are none.
inline bool has_unequal_replicas(layout const& layout) {
    return std::ranges::any_of(layout.spreads, [](tensor_spread const& spread) {
        tensor_shards const shards = spread.view();
        std::uint64_t held_count = 0; // of many replicas, more than a tensor may have
        for (std::size_t i = 0; i < shards.size(); ++i)
            held_count += static_cast<std::uint64_t>(shards.elements(i));
        return held_count != static_cast<std::uint64_t>(element_count(spread.shape)) &&
               find_overlap(shard_index(shards).listed_boxes()).has_value();
    });
}

/// The facts with the shards of all ranks, which are told now if they were not before.
///
/// \par Collective every rank of the group, in the same order
inline call_facts with_shards(mpi_group const& ranks, call_facts facts) {
    call_notice notice = facts.notices[static_cast<std::size_t>(ranks.rank())];
    if (notice.tells_shards)
        return facts;
    notice.tells_shards = true;
    if (!facts.sides.source.layout)
        notice.source.spread.shards = facts.sides.source.joined;
    if (!facts.sides.target.layout)
        notice.target.spread.shards = facts.sides.target.joined;
    facts.notices = gather_values(ranks, notice);
    return facts;
}

/// The layout of a side that no rank knows.
///
/// \pre the notices have the shards
inline layout layout_told(call_facts const& facts, bool is_source) {
    return layout_of_notices(each_side(facts.notices, is_source, &side_notice::spread));
}

/// The layouts of both sides, neighbours in memory as one shard if ranks told their shards.
///
/// Sources have to be equal if they are replicas: else every shard is told.
///
/// \par Collective every rank of the group, in the same order, if replicas differ
inline std::shared_ptr<planned_job> layouts_of_call(mpi_group const& ranks, call_facts facts) {
    auto planned = std::make_shared<planned_job>();
    auto& [source, target] = facts.sides;
    if (!source.layout) {
        planned->source = layout_told(facts, true);
        planned->source_is_joined = !has_unequal_replicas(planned->source);
        if (!planned->source_is_joined)
            planned->source = layout_of_all(ranks, source.held);
    } else {
        planned->source = std::move(*source.layout);
    }
    planned->target_is_joined = !target.layout;
    planned->target = target.layout ? std::move(*target.layout) : layout_told(facts, false);
    return planned;
}

/// The nodes that are there, if they matter. If they are unlike one another, or there is only one,
/// nothing is passed on.
inline plan_options nodes_for(layout const& source, call_facts const& facts,
                              options const& options) {
    bool const matters =
        options.relays || std::ranges::any_of(source.spreads, [](auto const& spread) {
            return shard_index(spread.view()).most_replicas() > 1;
        });
    plan_options nodes{.processes_per_node = options.processes_per_node};
    if (matters && options.processes_per_node == 0)
        nodes.processes_per_node = equal_ranks_per_node(facts.nodes);
    nodes.relays = options.relays && nodes.processes_per_node > 0;
    return nodes;
}

/// A plan that nobody shares yet.
struct new_plan {
    std::shared_ptr<planned_job> planned;
    local_error problem = {};
};

/// Plans without a search for earlier plans.
///
/// \par Collective every rank of the group, in the same order
inline new_plan make_new_plan(mpi_group const& ranks, call_facts facts,
                              std::optional<mapping> program, options const& options) {
    auto const& [source, target] = facts.sides;
    bool const are_known = source.layout && target.layout;
    if (!are_known && static_cast<holder_t>(ranks.size()) > options.gather_up_to)
        return {query_directory(ranks, source, target, std::move(program), options), {}};
    if (!are_known)
        facts = with_shards(ranks, std::move(facts));
    auto planned = layouts_of_call(ranks, facts);
    auto problem = attempt([&] {
        holder_set const me({static_cast<holder_t>(ranks.rank())});
        fit_program(*planned, std::move(program), {options.strict, options.shape_mismatch});
        plan_transfers(*planned, {me, me}, nodes_for(planned->source, facts, options));
    });
    return {std::move(planned), std::move(problem)};
}

/// True if `mine` is true on every rank.
///
/// \par Collective every rank of the group, in the same order
inline bool everywhere(mpi_group const& ranks, bool mine) {
    auto const values = gather_values(ranks, std::uint8_t{mine});
    return std::count(values.begin(), values.end(), 1) == ranks.size();
}

/// A digest of what all ranks hold and do: equal on every rank.
inline std::uint64_t digest_of_group(std::vector<call_notice> const& notices,
                                     std::optional<mapping> const& program,
                                     options const& options) {
    hasher hasher;
    hasher.add(planner_version);
    hasher.add(call_fingerprint(options).digest());
    hasher.add(program ? digest_of_all(digest_of(*program), program->left_over()) : 0);
    for (call_notice const& notice : notices)
        hasher.add(notice.digest);
    return hasher.value();
}

RESHARD_DECL known_plan plan_of_call(mpi_group const& ranks, call_facts facts,
                                     std::optional<mapping> program, options const& options) {
    if (!options.cache) {
        auto [planned, problem] =
            make_new_plan(ranks, std::move(facts), std::move(program), options);
        return {std::move(planned), false, std::move(problem)};
    }
    auto const me = static_cast<holder_t>(ranks.rank());
    std::uint64_t const group_digest = digest_of_group(facts.notices, program, options);
    std::uint64_t const digest = digest_of_all(group_digest, me);
    plan_cache::pointer kept = options.cache->find(digest);
    auto const latest = &call_notice::latest_plan;
    bool const all_used_it = std::ranges::all_of(
        facts.notices, [&](std::uint64_t plan) { return plan == group_digest; }, latest);
    bool const some_have_none = std::ranges::count(facts.notices, 0, latest) > 0;
    if (all_used_it || (!some_have_none && everywhere(ranks, kept != nullptr)))
        return {std::move(kept), true, {}};
    std::uint64_t const own_digest = own_digest_of(options, facts.notices[me].digest, ranks.rank());
    auto [planned, problem] = make_new_plan(ranks, std::move(facts), std::move(program), options);
    planned->own_digest = own_digest;
    planned->group_digest = group_digest;
    if (!problem)
        options.cache->add(digest, planned);
    return {std::move(planned), false, std::move(problem)};
}

RESHARD_DECL planned_rounds plan_rounds_of(mpi_group const& ranks, call_facts facts,
                                           std::optional<mapping> program, options const& options) {
    planned_rounds planned;
    agree_on(ranks, [&] {
        auto shared = std::make_shared<planned_job>();
        auto& [source, target] = facts.sides;
        shared->source = source.layout ? std::move(*source.layout) : layout_told(facts, true);
        shared->target = target.layout ? std::move(*target.layout) : layout_told(facts, false);
        plan_options const nodes{.processes_per_node = options.processes_per_node > 0
                                                           ? options.processes_per_node
                                                           : equal_ranks_per_node(facts.nodes)};
        planned = plan_in_rounds(
            std::move(shared), std::move(program), options,
            {static_cast<holder_t>(ranks.rank()), static_cast<holder_t>(ranks.size()), nodes});
    });
    return planned;
}

} // namespace reshard::detail

#endif
