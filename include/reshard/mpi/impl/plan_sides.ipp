// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_PLAN_SIDES_IPP
#define RESHARD_MPI_IMPL_PLAN_SIDES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/mpi/plan_sides.hpp>

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/layout/cover.hpp>
#include <reshard/mpi/impl/call_facts.ipp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/plan/planned_job.hpp>
#include <reshard/plan/shard_index.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace reshard::detail {

/// True if source shards overlap but are not equal: for example, one rank has a replica in one
/// piece of memory, and another rank has it in several.
inline bool has_unequal_replicas(layout const& layout) {
    return std::any_of(layout.spreads.begin(), layout.spreads.end(),
                       [](tensor_spread const& spread) {
                           return shard_index(spread.view()).find_overlap().has_value();
                       });
}

/// Adds the shards of all ranks to the facts. Sends them now if the notices did not have them.
///
/// \par Collective every rank of the group, in the same order
inline call_facts with_shards(mpi_group const& ranks, call_facts facts) {
    call_notice& notice = facts.notices[static_cast<std::size_t>(ranks.rank())];
    if (notice.tells_shards)
        return facts;
    notice.tells_shards = true;
    if (!facts.sides.source.layout)
        notice.source.spread.shards = std::move(facts.sides.source.joined);
    if (!facts.sides.target.layout)
        notice.target.spread.shards = std::move(facts.sides.target.joined);
    facts.notices = gather_values(ranks, notice);
    return facts;
}

/// The layout of a side, from the shards in the notices.
///
/// \pre the notices have the shards
inline layout layout_told(call_facts const& facts, bool is_source) {
    vector<std::span<shard_descriptor const>> shards;
    for (call_notice const& notice : facts.notices)
        shards.emplace_back((is_source ? notice.source : notice.target).spread.shards);
    return layout_of_spans(shards);
}

/// The layouts of both sides. If ranks sent their shards, shards that are neighbours in memory are
/// joined.
///
/// If the joined source shards overlap but are not equal, the ranks send their separate shards
/// instead.
///
/// \par Collective every rank of the group, in the same order, if replicas differ
inline std::shared_ptr<planned_job> layouts_of_call(mpi_group const& ranks, call_facts facts) {
    auto planned = std::make_shared<planned_job>();
    auto& [source, target] = facts.sides;
    if (!source.layout) {
        planned->source = layout_told(facts, true);
        planned->source_is_joined = !has_unequal_replicas(planned->source);
        if (!planned->source_is_joined)
            planned->source = layout_of_all(ranks, source.held.descriptors());
    } else {
        planned->source = std::move(*source.layout);
    }
    planned->target_is_joined = !target.layout;
    planned->target = target.layout ? std::move(*target.layout) : layout_told(facts, false);
    return planned;
}

RESHARD_DECL plan_options nodes_of(options const& options, vector<int> const& nodes) {
    plan_options result{.processes_per_node = options.processes_per_node};
    if (options.processes_per_node == 0)
        result.processes_per_node = equal_ranks_per_node(nodes);
    if (!options.between_nodes.has_relays() || result.processes_per_node > 0)
        result.between_nodes = options.between_nodes;
    return result;
}

/// A new plan, or the error that prevented it.
struct new_plan {
    std::shared_ptr<planned_job> planned;
    local_error problem = {};
};

/// Makes a plan without searching the cache.
///
/// \par Collective every rank of the group, in the same order
inline new_plan make_new_plan(mpi_group const& ranks, call_facts facts,
                              std::optional<mapping> program, options const& options) {
    auto const& [source, target] = facts.sides;
    bool const are_known = source.layout && target.layout;
    if (!are_known && !options.lookup.gathers(static_cast<std::size_t>(ranks.size()))) {
        auto planned = options.lookup.steps->plan(ranks, facts, std::move(program), options);
        planned->conversions = conversions_of(options.program);
        return {std::move(planned), {}};
    }
    if (!are_known)
        facts = with_shards(ranks, std::move(facts));
    vector<int> const nodes = facts.nodes;
    auto planned = layouts_of_call(ranks, std::move(facts));
    planned->conversions = conversions_of(options.program);
    auto problem = attempt([&] {
        holder_set const me({static_cast<holder_t>(ranks.rank())});
        fit_program(*planned, std::move(program), rules_of(options));
        plan_transfers(*planned, {me, me}, nodes_of(options, nodes));
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

/// A digest of the shards and options of all ranks: equal on every rank.
inline std::uint64_t digest_of_group(call_facts const& facts, std::optional<mapping> const& program,
                                     options const& options) {
    hasher hasher;
    hasher.add(planner_version);
    hasher.add(call_fingerprint(options).digest());
    hasher.add(program ? options.program.steps()->digest(*program) : 0);
    for (call_notice const& notice : facts.notices)
        hasher.add(notice.digest);
    for (int const node : facts.nodes)
        hasher.add(static_cast<std::uint64_t>(node));
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
    std::uint64_t const group_digest = digest_of_group(facts, program, options);
    std::uint64_t const digest = digest_of_all(group_digest, me);
    auto kept = options.cache->find_plan(digest);
    bool all_used_it = true, some_have_none = false;
    for (call_notice const& notice : facts.notices) {
        all_used_it = all_used_it && notice.latest_plan == group_digest;
        some_have_none = some_have_none || notice.latest_plan == 0;
    }
    if (all_used_it || (!some_have_none && everywhere(ranks, kept != nullptr)))
        return {std::move(kept), true, {}};
    std::uint64_t const own_digest = own_digest_of(options, facts.notices[me].digest, ranks.rank());
    auto [planned, problem] = make_new_plan(ranks, std::move(facts), std::move(program), options);
    planned->own_digest = own_digest;
    planned->group_digest = group_digest;
    if (!problem)
        options.cache->keep_plan(digest, planned);
    return {std::move(planned), false, std::move(problem)};
}

RESHARD_DECL std::shared_ptr<planned_job> layouts_of_rounds(call_facts facts,
                                                            options const& options) {
    auto& [source, target] = facts.sides;
    auto planned = std::make_shared<planned_job>();
    planned->source = source.layout ? std::move(*source.layout) : layout_told(facts, true);
    planned->target = target.layout ? std::move(*target.layout) : layout_told(facts, false);
    planned->conversions = conversions_of(options.program);
    return planned;
}

} // namespace reshard::detail

#endif
