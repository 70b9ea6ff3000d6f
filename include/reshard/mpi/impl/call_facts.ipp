// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_CALL_FACTS_IPP
#define RESHARD_MPI_IMPL_CALL_FACTS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/mpi/plan_sides.hpp>

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/node_transfers.hpp>
#include <reshard/plan/planned_job.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

RESHARD_DECL compared_values call_fingerprint(options const& options, source_tensors const& have,
                                              target_tensors const& want) {
    compared_values fingerprint = call_fingerprint(options);
    fingerprint.add_presence("source arena", have.arena != nullptr);
    fingerprint.add_presence("target arena", want.arena != nullptr);
    fingerprint.add_digest("source arena", have.arena ? have.arena->number() : 0);
    fingerprint.add_digest("target arena", want.arena ? want.arena->number() : 0);
    return fingerprint;
}

RESHARD_DECL local_error check_call(mpi_group const& world, source_tensors const& have,
                                    target_tensors const& want, options const& options) {
    return attempt([&] {
        check_call(have, want, options);
        for (any_arena const* const arena : {have.arena, want.arena})
            if (arena)
                arena->steps().check(world, *arena->state());
    });
}

template <class View>
known_side side_of(side<View>& side) {
    known_side known_side{std::move(side.layout), side.tensors, {}};
    if (!known_side.layout)
        known_side.joined = joined_for_plan(side.tensors).descriptors();
    return known_side;
}

RESHARD_DECL two_sides sides_of(source_tensors& have, target_tensors& want) {
    return {side_of(have), side_of(want)};
}

inline void add_side(hasher& digest, known_side const& side, any_plan_cache const& cache) {
    digest.add(std::uint64_t{side.held.size()});
    side.held.shards().for_each(
        [&](const_local_shard const& shard) { digest.add(digest_of(shard.descriptor)); });
    for (shard_descriptor const& shard : side.joined)
        digest.add(digest_of(shard));
    digest.add(side.layout ? cache.digest(*side.layout) : 0);
}

/// A digest of this rank's call.
inline std::uint64_t own_digest_of(options const& options, std::uint64_t sides, int rank) {
    return digest_of_all(planner_version, call_fingerprint(options).digest(), sides, rank);
}

inline side_notice notice_of(known_side const& side, bool tells_shards, options const& options) {
    side_notice notice;
    if (tells_shards)
        notice.spread =
            notice_of(side.layout, options.memory ? side.held.descriptors() : side.joined);
    else
        notice.spread = notice_of(side.layout, {});
    if (!side.layout && options.program.made())
        notice.cuts = options.program.steps()->cuts(side.held.descriptors());
    return notice;
}

RESHARD_DECL call_notice notice_of(mpi_group const& world, two_sides const& own,
                                   options const& options) {
    call_notice notice;
    notice.tells_shards =
        !options.cache &&
        (options.memory || options.lookup.gathers(static_cast<std::size_t>(world.size())));
    notice.source = notice_of(own.source, notice.tells_shards, options);
    notice.target = notice_of(own.target, notice.tells_shards, options);
    notice.rank = world.notice();
    if (!options.cache)
        return notice;
    hasher sides;
    add_side(sides, own.source, *options.cache);
    add_side(sides, own.target, *options.cache);
    notice.digest = sides.value();
    std::uint64_t const mine = own_digest_of(options, notice.digest, world.rank());
    notice.latest_plan = options.cache->latest_plan(mine);
    return notice;
}

inline side_notice const& side_of(call_notice const& notice, bool is_source) {
    return is_source ? notice.source : notice.target;
}

/// Sends the layout of a side to all ranks if only some know it.
///
/// \par Collective every rank of the group, in the same order
inline std::optional<layout> share_layout(mpi_group const& ranks, std::optional<layout> layout,
                                          vector<std::string> const& digests,
                                          std::string_view side) {
    layout = share_known(ranks, std::move(layout), digests, side);
    auto const count = static_cast<std::size_t>(ranks.size());
    if (layout && layout->holders > count)
        fail(errc::bad_layout, "the layout of the ", side, " is for ", layout->holders,
             " ranks, and the group has ", count);
    return layout;
}

RESHARD_DECL vector<rank_notice> rank_notices_of(vector<call_notice> const& notices) {
    vector<rank_notice> ranks;
    for (call_notice const& notice : notices)
        ranks.push_back(notice.rank);
    return ranks;
}

RESHARD_DECL vector<int> nodes_of(vector<rank_notice> const& notices) {
    auto const per_node = static_cast<std::size_t>(ranks_per_node(0));
    vector<vector<int>> ranks; // of each machine
    key_index machines;
    auto const machine_at = [&](std::uint32_t i) -> std::string_view {
        return notices[static_cast<std::size_t>(ranks[i].front())].machine;
    };
    vector<int> nodes;
    for (rank_notice const& notice : notices) {
        vector<int>& same = ranks[machines.find_or_append(notice.machine, machine_at, [&] {
            ranks.emplace_back();
            return static_cast<std::uint32_t>(ranks.size() - 1);
        })];
        std::size_t const number = same.size();
        same.push_back(static_cast<int>(nodes.size()));
        nodes.push_back(same[per_node == 0 ? 0 : number / per_node * per_node]);
    }
    return nodes;
}

RESHARD_DECL call_facts facts_of_call(mpi_group const& ranks, two_sides own,
                                      vector<call_notice> notices) {
    vector<int> nodes = nodes_of(rank_notices_of(notices));
    call_facts facts{std::move(own), std::move(notices), std::move(nodes)};
    auto const share = [&](std::optional<layout>& layout, bool is_source, std::string_view side) {
        vector<std::string> digests;
        for (call_notice const& notice : facts.notices)
            digests.push_back(side_of(notice, is_source).spread.digest);
        layout = share_layout(ranks, std::move(layout), digests, side);
    };
    share(facts.sides.source.layout, true, "source");
    share(facts.sides.target.layout, false, "target");
    return facts;
}

RESHARD_DECL side_facts facts_of_side(call_facts const& facts, bool is_source) {
    known_side const& side = is_source ? facts.sides.source : facts.sides.target;
    if (side.layout)
        return {&*side.layout, {}};
    side_facts cuts;
    for (call_notice const& notice : facts.notices)
        cuts.cuts.push_back(side_of(notice, is_source).cuts);
    return cuts;
}

} // namespace reshard::detail

#endif
