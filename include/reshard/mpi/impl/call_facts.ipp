// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_CALL_FACTS_IPP
#define RESHARD_MPI_IMPL_CALL_FACTS_IPP

#include <reshard/mpi/plan_sides.hpp>

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/plan/plan_digest.hpp>
#include <reshard/plan/planned_job.hpp>
#include <reshard/tensor/join_neighbours.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
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
    notice.rank = world.notice();
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

RESHARD_DECL std::vector<rank_notice> rank_notices_of(std::vector<call_notice> const& notices) {
    std::vector<rank_notice> ranks;
    for (call_notice const& notice : notices)
        ranks.push_back(notice.rank);
    return ranks;
}

RESHARD_DECL std::vector<int> nodes_of(std::vector<rank_notice> const& notices) {
    auto const per_node = static_cast<std::size_t>(ranks_per_node(0));
    std::map<std::string_view, std::vector<int>> ranks;
    std::vector<int> nodes;
    for (rank_notice const& notice : notices) {
        std::vector<int>& same = ranks[notice.machine];
        std::size_t const number = same.size();
        same.push_back(static_cast<int>(nodes.size()));
        nodes.push_back(same[per_node == 0 ? 0 : number / per_node * per_node]);
    }
    return nodes;
}

RESHARD_DECL call_facts facts_of_call(mpi_group const& ranks, two_sides own,
                                      std::vector<call_notice> notices) {
    std::vector<int> nodes = nodes_of(rank_notices_of(notices));
    call_facts facts{std::move(own), std::move(notices), std::move(nodes)};
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
            digest_of_program(new_mapping) != digest_of_program(mapping_of_first))
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
        own_notice.digest = digest_of_program(mapping);
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

} // namespace reshard::detail

#endif
