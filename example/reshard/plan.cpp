// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "spec.hpp"
#include "summary.hpp"

#include <reshard/plan/cost.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/shard/main_copies.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

struct plan_command {
    job_files files;
    bool key_details = false;
};

/// What a plan gives and moves for one target tensor.
struct key_cost {
    index_t transfers = 0;
    index_t bytes = 0;
};

/// A plan, what it was made of, and what it costs.
struct dry_run {
    holder_t source_ranks = 0;
    holder_t target_ranks = 0;
    index_t source_pieces = 0;
    index_t target_pieces = 0;
    std::vector<std::string> keys;
    std::vector<key_cost> by_key;
    plan_cost cost;
};

bool has_elements(shard_table const& shards, std::size_t i) {
    auto const flat = shards.flat(i);
    return !is_empty(shards.region(i)) && (!flat || flat->size() > 0);
}

index_t count_main_copies(layout const& held) {
    index_t count = 0;
    for (tensor_layout const& tensor : held.tensors)
        for (std::uint32_t const i : main_copies(tensor.shards))
            count += has_elements(tensor.shards, i);
    return count;
}

index_t count_shards(layout const& held) {
    index_t count = 0;
    for (tensor_layout const& tensor : held.tensors)
        for (std::size_t i = 0; i < tensor.shards.size(); ++i)
            count += has_elements(tensor.shards, i);
    return count;
}

dry_run make_dry_run(source_spec const& source, job const& all) {
    layout const& target = *all.target;
    plan_problem const problem = problem_of(all.map(), source.held, target);
    plan const whole = make_plan(problem);
    holder_t const ranks = std::max(source.held.holders, target.holders);
    dry_run result{source.held.holders,
                   target.holders,
                   count_main_copies(source.held),
                   count_shards(target),
                   {},
                   {},
                   cost_of(whole, ranks)};
    for (tensor_layout const& tensor : target.tensors)
        result.keys.push_back(tensor.key);
    result.by_key.resize(result.keys.size());
    for (transfer const& part : whole.transfers) {
        ++result.by_key[part.target_key].transfers;
        result.by_key[part.target_key].bytes += wire_bytes(whole, part);
    }
    return result;
}

json::array json_of(std::vector<process_cost> const& ranks) {
    json::array list;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        list.push_back({{"rank", rank},
                        {"bytes_in", ranks[rank].bytes_in},
                        {"bytes_out", ranks[rank].bytes_out},
                        {"bytes_local", ranks[rank].bytes_local},
                        {"messages_in", ranks[rank].messages_in},
                        {"messages_out", ranks[rank].messages_out}});
    return list;
}

json::object json_of(dry_run const& run, bool key_details) {
    json::object document{{"source_ranks", run.source_ranks},
                          {"target_ranks", run.target_ranks},
                          {"keys", run.keys.size()},
                          {"source_pieces", run.source_pieces},
                          {"target_pieces", run.target_pieces},
                          {"transfers", run.cost.transfers},
                          {"messages", run.cost.messages},
                          {"bytes", run.cost.bytes},
                          {"bytes_local", run.cost.bytes_local},
                          {"peak_extra_bytes", run.cost.peak_extra_bytes},
                          {"by_rank", json_of(run.cost.by_process)}};
    if (!key_details)
        return document;
    json::object details;
    for (std::size_t i = 0; i < run.keys.size(); ++i)
        details[run.keys[i]] = {{"transfers", run.by_key[i].transfers},
                                {"bytes", run.by_key[i].bytes}};
    document["key_details"] = std::move(details);
    return document;
}

std::string rank_table(std::vector<process_cost> const& ranks) {
    std::vector<std::vector<std::string>> rows{
        {"rank", "bytes in", "bytes out", "bytes local", "messages in", "messages out"}};
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        rows.push_back({std::to_string(rank), grouped(ranks[rank].bytes_in),
                        grouped(ranks[rank].bytes_out), grouped(ranks[rank].bytes_local),
                        std::to_string(ranks[rank].messages_in),
                        std::to_string(ranks[rank].messages_out)});
    return table(rows);
}

std::string text_of(dry_run const& run, bool key_details) {
    std::string text = std::to_string(run.source_ranks) + " ranks to " +
                       std::to_string(run.target_ranks) + ", " + counted(run.keys.size(), "key") +
                       ": " + grouped(run.source_pieces) + " source pieces, " +
                       grouped(run.target_pieces) + " target pieces\n" +
                       grouped(run.cost.transfers) + " transfers of " + grouped(run.cost.bytes) +
                       " bytes, " + grouped(run.cost.bytes_local) + " of them within a rank, in " +
                       grouped(run.cost.messages) + " messages\n" + rank_table(run.cost.by_process);
    if (!key_details)
        return text;
    std::vector<std::vector<std::string>> rows{{"key", "transfers", "bytes"}};
    for (std::size_t i = 0; i < run.keys.size(); ++i)
        rows.push_back(
            {run.keys[i], grouped(run.by_key[i].transfers), grouped(run.by_key[i].bytes)});
    return text + table(rows);
}

outcome plan_dry(plan_command const& options, bool as_json) {
    source_spec const source = read_source(options.files.source);
    job const all = make_sound_job(source.held, options.files);
    print_notes(all, options.files);
    dry_run const run = with_files(options.files, [&] { return make_dry_run(source, all); });
    return as_json ? json_outcome(json_of(run, options.key_details))
                   : outcome{text_of(run, options.key_details)};
}

} // namespace

void add_plan(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<plan_command>();
    CLI::App* const command =
        add_command(app, chosen, "plan", "Show who would send what, without sending it",
                    "  reshard plan --source six.json --target two.json\n"
                    "  reshard plan --source model --target layout.json --program fuse.aoa --json");
    add_source(*command, options->files);
    add_target(*command, options->files)->required();
    add_reverse(*command, options->files, add_program(*command, options->files));
    add_partial(*command, options->files, "target");
    command->add_flag("--key-details", options->key_details, "Also what each key costs");
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return on_first(world, [&] { return plan_dry(*options, chosen.json); });
        };
    });
}

} // namespace tool
