// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "dry_run.hpp"
#include "plan_picture.hpp"
#include "report.hpp"

#include <reshard/format/network_file.hpp>
#include <reshard/layout/replica.hpp>
#include <reshard/plan/between_nodes.hpp>
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

index_t count_main_copies(layout const& layout) {
    index_t count = 0;
    for (tensor_layout const& tensor : layout.tensors)
        for (std::uint32_t const i : detail::main_copies(detail::listed(layout.spread_of(tensor))))
            count += has_elements(layout.shards_of(tensor), i);
    return count;
}

index_t count_shards(layout const& layout) {
    index_t count = 0;
    for (tensor_layout const& tensor : layout.tensors)
        for (std::size_t i = 0; i < layout.shards_of(tensor).size(); ++i)
            count += has_elements(layout.shards_of(tensor), i);
    return count;
}

/// Plans the rounds. If the budget is too small, the error names the option, too.
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

reshard::vector<key_cost> key_costs(plan_flows const& flows) {
    reshard::vector<key_cost> by_kind(flows.size());
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](detail::flow const& flow) {
            by_kind[kind].transfers += !flow.is_rest; // one transfer for each pair of shards
            by_kind[kind].bytes += flow.bytes;
        });
    reshard::vector<key_cost> by_key;
    for (std::size_t t = 0; t < flows.problem().targets.size(); ++t)
        by_key.push_back(by_kind[flows.kind_of(t)]);
    return by_key;
}

/// The report of what `convert` does with the files. std::nullopt if the source has no files, or
/// too many to list.
std::optional<conversion> make_conversion(source_spec const& source, job const& full_job,
                                          dry_run const& run, plan_command const& options) {
    constexpr index_t most_pieces = 2'000'000;
    if (!source.checkpoint)
        return std::nullopt;
    if (run.target_pieces > most_pieces) {
        note(options.files.target + ": " + grouped(run.target_pieces) +
             " shards; the reads and writes of convert are listed for up to " +
             grouped(most_pieces) + " shards");
        return std::nullopt;
    }
    return conversion_of(source, full_job,
                         {.format = options.to,
                          .partial = options.files.partial,
                          .replicas = options.replicas,
                          .per_rank = options.per_rank},
                         options.share_copies);
}

json::object json_of(plan_balance const& balance) {
    auto const line_of = [](std::string_view noun, plan_balance::extreme const& busiest) {
        return json::object{
            {noun, busiest.number}, {"bytes", busiest.bytes}, {"least_bytes", busiest.least_bytes}};
    };
    json::object object{{"sender", line_of("rank", balance.sender)},
                        {"receiver", line_of("rank", balance.receiver)}};
    if (balance.link != plan_balance::extreme{})
        object["link"] = line_of("node", balance.link);
    return object;
}

json::array json_of_ranks(dry_run const& run) {
    json::array list;
    for (std::size_t rank = 0; rank < run.memory.size(); ++rank) {
        process_cost const& cost = run.cost.by_process[rank];
        list.push_back({{"rank", rank},
                        {"bytes_in", cost.bytes_in},
                        {"bytes_out", cost.bytes_out},
                        {"bytes_local", cost.bytes_local},
                        {"bytes_relayed", cost.bytes_relayed},
                        {"messages_in", cost.messages_in},
                        {"messages_out", cost.messages_out},
                        {"source_bytes", run.memory[rank].source_bytes},
                        {"target_bytes", run.memory[rank].target_bytes},
                        {"peak_bytes", peak_of(run, rank)}});
    }
    return list;
}

json::array json_of_rounds(dry_run const& run) {
    json::array list;
    for (detail::plan_round const& plan_round : run.rounds.rounds)
        list.push_back({{"keys", plan_round.last - plan_round.first},
                        {"first_key", run.keys[plan_round.first]},
                        {"last_key", run.keys[plan_round.last - 1]},
                        {"released", plan_round.released.size()},
                        {"transfers", plan_round.transfers},
                        {"bytes", plan_round.bytes},
                        {"bytes_local", plan_round.bytes_local},
                        {"peak_bytes", plan_round.peak_bytes},
                        {"peak_rank", plan_round.peak_process}});
    return list;
}

/// A lower bound for the time of all plans, with and without relays.
detail::least_time least_time_of(detail::plan_problem const& problem, plan_flows const& flows,
                                 network const& over, holder_t ranks) {
    if (flows.options().between_nodes.has_relays())
        return detail::least_time_of(flows, over, ranks);
    return detail::least_time_of(plan_flows(problem, {.processes_per_node = over.ranks_per_node,
                                                      .between_nodes = detail::all_relays()}),
                                 over, ranks);
}

/// The requested network, with the requested number of ranks per node.
std::optional<network> network_of(plan_command const& options) {
    if (options.network.empty())
        return std::nullopt;
    network network = read_network(options.network);
    if (options.ranks_per_node > 0)
        network.ranks_per_node = options.ranks_per_node;
    return network;
}

bool has_nodes(plan_command const& options, std::optional<network> const& over) {
    return over || options.ranks_per_node > 0;
}

/// Relays as requested, or between nodes if they are faster. A plan in rounds has no relays.
detail::node_traffic traffic_of(plan_command const& options, std::optional<network> const& over) {
    if (options.relays)
        return detail::all_relays();
    return has_nodes(options, over) && !options.budget ? relays(over.value_or(network()))
                                                       : balanced_senders();
}

} // namespace

dry_run make_dry_run(source_spec const& source, job const& full_job, plan_command const& options) {
    layout const& target = *full_job.target;
    detail::refuse_quantised(full_job.map(), "a plan");
    detail::plan_problem const problem = problem_of(full_job.map(), source.held, target);
    std::optional<network> const over = network_of(options);
    plan_flows const flows(
        problem, {.processes_per_node = over ? over->ranks_per_node : options.ranks_per_node,
                  .between_nodes = traffic_of(options, over)});
    holder_t const ranks = std::max(source.held.holders, target.holders);
    dry_run result;
    result.source_ranks = source.held.holders;
    result.target_ranks = target.holders;
    result.relays = options.relays || flows.options().between_nodes.has_relays();
    if (options.budget && has_nodes(options, over))
        result.omitted = detail::gain_of_relays(problem, flows.options(), over.value_or(network()));
    result.source_pieces = count_main_copies(source.held);
    result.target_pieces = count_shards(target);
    result.cost = cost_of(flows, ranks);
    for (tensor_layout const& tensor : target.tensors)
        result.keys.push_back(tensor.key);
    result.balance = balance_of(flows, ranks);
    result.by_key = key_costs(flows);
    result.cost.transfers = 0;
    for (key_cost const& cost : result.by_key)
        result.cost.transfers += cost.transfers;
    result.memory = memory_of(problem, ranks);
    result.rounds = make_rounds(flows, ranks, options);
    if (over)
        result.simulated = {options.network, *over, simulate(flows, *over),
                            least_time_of(problem, flows, *over, ranks)};
    result.files = make_conversion(source, full_job, result, options);
    if (!options.report.empty())
        result.bins = result.files ? result.files->bins : bins_of(flows);
    if (!options.picture.empty())
        result.picture =
            plan_picture(flows, result.rounds.rounds, options.budget, result.simulated);
    return result;
}

relabelling relabel(source_spec const& source, job& full_job, plan_command const& options) {
    if (source.checkpoint)
        fail(errc::usage, source.path,
             ": --relabel needs a layout of tensors in memory, but this is a checkpoint; give "
             "the layout file of the processes as --source");
    relabelling relabelling =
        best_relabelling(full_job.map(), source.held, *full_job.target, options.ranks_per_node);
    full_job.target = relabelling.of_processes(*full_job.target);
    return relabelling;
}

index_t peak_of(dry_run const& run, std::size_t rank) {
    constexpr auto noun = "the bytes of a rank";
    detail::process_memory const& memory = run.memory[rank];
    return detail::checked_add(detail::checked_add(memory.source_bytes, memory.target_bytes, noun),
                               detail::staging_of(run.cost.by_process[rank]), noun);
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
         {{"bytes_in", run.cost.imbalance(&process_cost::bytes_in)},
          {"bytes_out", run.cost.imbalance(&process_cost::bytes_out)}}},
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
    if (run.omitted && run.omitted->is_worth_it())
        document["without_relays"] = {{"seconds", run.omitted->direct},
                                      {"seconds_with_relays", run.omitted->relayed}};
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
