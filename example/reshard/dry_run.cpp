// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "dry_run.hpp"
#include "plan_picture.hpp"
#include "report.hpp"

#include <reshard/format/network_file.hpp>
#include <reshard/layout/replica.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/problem.hpp>

#include <boost/json/array.hpp>

#include <algorithm>
#include <utility>

namespace tool {

using namespace reshard;
namespace json = boost::json;

namespace {

bool has_elements(detail::tensor_shards const& shards, std::size_t i) {
    auto const flat = shards.flat(i);
    return !detail::is_empty(shards.region(i)) && (!flat || flat->size() > 0);
}

index_t count_main_copies(layout const& held) {
    index_t count = 0;
    for (tensor_layout const& tensor : held.tensors)
        for (std::uint32_t const i : detail::main_copies(detail::listed(held.spread_of(tensor))))
            count += has_elements(held.shards_of(tensor), i);
    return count;
}

index_t count_shards(layout const& held) {
    index_t count = 0;
    for (tensor_layout const& tensor : held.tensors)
        for (std::size_t i = 0; i < held.shards_of(tensor).size(); ++i)
            count += has_elements(held.shards_of(tensor), i);
    return count;
}

/// A budget that is too small is an error that names the option, too.
detail::plan_rounds make_rounds(plan_flows const& flows, holder_t ranks,
                                plan_command const& options) {
    if (!options.budget)
        return rounds_of(flows, ranks);
    try {
        return rounds_of(flows, ranks, *options.budget);
    } catch (error const& problem) {
        fail(problem.code(), options.files.target + ": --memory-budget: " + problem.what());
    }
}

std::vector<key_cost> key_costs(plan_flows const& flows) {
    std::vector<key_cost> by_kind(flows.size());
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](detail::flow const& one) {
            by_kind[kind].transfers += !one.is_rest; // of a pair of shards, one
            by_kind[kind].bytes += one.bytes;
        });
    std::vector<key_cost> by_key;
    for (std::size_t t = 0; t < flows.problem().targets.size(); ++t)
        by_key.push_back(by_kind[flows.kind_of(t)]);
    return by_key;
}

/// What `convert` does with the files; nothing where the source has none, or where they are too
/// many to be listed.
std::optional<conversion> make_conversion(source_spec const& source, job const& all,
                                          dry_run const& run, plan_command const& options) {
    constexpr index_t most_pieces = 2'000'000;
    if (!source.checkpoint)
        return std::nullopt;
    if (run.target_pieces > most_pieces) {
        note(options.files.target + ": " + grouped(run.target_pieces) +
             " shards; what convert reads and writes is listed for " + grouped(most_pieces) +
             " at most");
        return std::nullopt;
    }
    return conversion_of(source, all,
                         {.format = options.to,
                          .partial = options.files.partial,
                          .replicas = options.replicas,
                          .per_rank = options.per_rank},
                         options.share_copies);
}

json::object json_of(plan_balance const& balance) {
    auto const one = [](std::string_view what, plan_extreme const& busiest) {
        return json::object{
            {what, busiest.number}, {"bytes", busiest.bytes}, {"least_bytes", busiest.least_bytes}};
    };
    json::object all{{"sender", one("rank", balance.sender)},
                     {"receiver", one("rank", balance.receiver)}};
    if (balance.link != plan_extreme{})
        all["link"] = one("node", balance.link);
    return all;
}

json::array json_of_ranks(dry_run const& run) {
    json::array list;
    for (std::size_t rank = 0; rank < run.memory.size(); ++rank) {
        process_cost const& one = run.cost.by_process[rank];
        list.push_back({{"rank", rank},
                        {"bytes_in", one.bytes_in},
                        {"bytes_out", one.bytes_out},
                        {"bytes_local", one.bytes_local},
                        {"bytes_relayed", one.bytes_relayed},
                        {"messages_in", one.messages_in},
                        {"messages_out", one.messages_out},
                        {"source_bytes", run.memory[rank].source_bytes},
                        {"target_bytes", run.memory[rank].target_bytes},
                        {"peak_bytes", peak_of(run, rank)}});
    }
    return list;
}

json::array json_of_rounds(dry_run const& run) {
    json::array list;
    for (detail::plan_round const& one : run.rounds.rounds)
        list.push_back({{"keys", one.last - one.first},
                        {"first_key", run.keys[one.first]},
                        {"last_key", run.keys[one.last - 1]},
                        {"released", one.released.size()},
                        {"transfers", one.transfers},
                        {"bytes", one.bytes},
                        {"bytes_local", one.bytes_local},
                        {"peak_bytes", one.peak_bytes},
                        {"peak_rank", one.peak_process}});
    return list;
}

/// The network that was asked for, with as many ranks on a node as was asked for.
std::optional<network> network_of(plan_command const& options) {
    if (options.network.empty())
        return std::nullopt;
    network found = read_network(options.network);
    if (options.ranks_per_node > 0)
        found.ranks_per_node = options.ranks_per_node;
    return found;
}

} // namespace

dry_run make_dry_run(source_spec const& source, job const& all, plan_command const& options) {
    layout const& target = *all.target;
    detail::plan_problem const problem = problem_of(all.map(), source.held, target);
    std::optional<network> const over = network_of(options);
    plan_flows const flows(
        problem, {.processes_per_node = over ? over->ranks_per_node : options.ranks_per_node,
                  .relays = options.relays});
    holder_t const ranks = std::max(source.held.holders, target.holders);
    dry_run result;
    result.source_ranks = source.held.holders;
    result.target_ranks = target.holders;
    result.relays = options.relays;
    result.source_pieces = count_main_copies(source.held);
    result.target_pieces = count_shards(target);
    result.cost = cost_of(flows, ranks);
    for (tensor_layout const& tensor : target.tensors)
        result.keys.push_back(tensor.key);
    result.balance = balance_of(flows, ranks);
    result.by_key = key_costs(flows);
    result.cost.transfers = 0;
    for (key_cost const& one : result.by_key)
        result.cost.transfers += one.transfers;
    result.memory = memory_of(problem, ranks);
    result.rounds = make_rounds(flows, ranks, options);
    if (over)
        result.simulated = {options.network, *over, simulate(flows, *over)};
    result.files = make_conversion(source, all, result, options);
    if (!options.report.empty())
        result.bins = result.files ? result.files->bins : bins_of(flows);
    if (!options.picture.empty())
        result.picture =
            plan_picture(flows, result.rounds.rounds, options.budget, result.simulated);
    return result;
}

relabelling relabel(source_spec const& source, job& all, plan_command const& options) {
    if (source.checkpoint)
        fail(
            errc::usage, source.path,
            ": --relabel begins with what processes have in memory, and this is a checkpoint; give "
            "as --source the layout file of those processes");
    relabelling found =
        best_relabelling(all.map(), source.held, *all.target, options.ranks_per_node);
    all.target = found.of_processes(*all.target);
    return found;
}

index_t peak_of(dry_run const& run, std::size_t rank) {
    constexpr auto what = "the bytes of a rank";
    detail::process_memory const& held = run.memory[rank];
    return detail::checked_add(detail::checked_add(held.source_bytes, held.target_bytes, what),
                               detail::staging_of(run.cost.by_process[rank]), what);
}

json::object json_of(dry_run const& run, bool key_details) {
    json::object document{
        {"source_ranks", run.source_ranks},
        {"target_ranks", run.target_ranks},
        {"keys", run.keys.size()},
        {"source_pieces", run.source_pieces},
        {"target_pieces", run.target_pieces},
        {"transfers", run.cost.transfers},
        {"relays", run.cost.relays},
        {"messages", run.cost.messages},
        {"bytes", run.cost.bytes},
        {"bytes_local", run.cost.bytes_local},
        {"peak_extra_bytes", run.cost.peak_extra_bytes},
        {"imbalance",
         {{"bytes_in", imbalance(run.cost, &process_cost::bytes_in)},
          {"bytes_out", imbalance(run.cost, &process_cost::bytes_out)}}},
        {"busiest", json_of(run.balance)},
        {"least_memory_budget", run.relays ? json::value() : json::value(run.rounds.least_budget)},
        {"rounds", json_of_rounds(run)},
        {"by_rank", json_of_ranks(run)},
        {"planning", {{"seconds", run.seconds}, {"peak_extra_bytes", run.planning_bytes}}}};
    if (run.files)
        document["convert"] = json_of(*run.files);
    if (run.played)
        document["relabelling"] = {{"process_of", json::array(run.played->process_of.begin(),
                                                              run.played->process_of.end())},
                                   {"bytes", run.played->bytes},
                                   {"bytes_kept", run.played->bytes_kept},
                                   {"bytes_kept_before", run.played->bytes_kept_before}};
    if (run.simulated)
        document["network"] = json_of(*run.simulated);
    if (!key_details)
        return document;
    json::object details;
    for (std::size_t i = 0; i < run.keys.size(); ++i)
        details[run.keys[i]] = {{"transfers", run.by_key[i].transfers},
                                {"bytes", run.by_key[i].bytes}};
    document["key_details"] = std::move(details);
    return document;
}

} // namespace tool
