// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "conversion.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "page/plan_page.hpp"
#include "picture/byte_text.hpp"
#include "plan_picture.hpp"
#include "spec.hpp"
#include "summary.hpp"

#include <reshard/layout/replica.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/rounds.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/put_in_place.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

struct plan_command {
    job_files files;
    bool key_details = false;
    std::optional<index_t> budget;
    std::string picture; ///< a file, or empty
    bool replicas = false;
    bool per_rank = false;
    std::string report; ///< a file, or empty
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
    std::vector<detail::process_memory> memory;
    detail::plan_rounds rounds;
    std::optional<heat_bins> bins;   ///< where there is a report
    std::optional<conversion> files; ///< where the source is a checkpoint
    double seconds = 0;              ///< that planning took
    index_t planning_bytes = 0;      ///< of memory that planning needed
};

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
            ++by_kind[kind].transfers;
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
        note(options.files.target + ": of " + grouped(run.target_pieces) +
             " shards it is not listed what convert reads and writes, which is done up to " +
             grouped(most_pieces));
        return std::nullopt;
    }
    return conversion_of(source, all,
                         {.partial = options.files.partial,
                          .replicas = options.replicas,
                          .per_rank = options.per_rank});
}

dry_run make_dry_run(source_spec const& source, job const& all, plan_command const& options) {
    layout const& target = *all.target;
    detail::plan_problem const problem = problem_of(all.map(), source.held, target);
    plan_flows const flows(problem);
    holder_t const ranks = std::max(source.held.holders, target.holders);
    dry_run result;
    result.source_ranks = source.held.holders;
    result.target_ranks = target.holders;
    result.source_pieces = count_main_copies(source.held);
    result.target_pieces = count_shards(target);
    result.cost = cost_of(flows, ranks);
    for (tensor_layout const& tensor : target.tensors)
        result.keys.push_back(tensor.key);
    result.by_key = key_costs(flows);
    result.memory = memory_of(problem, ranks);
    result.rounds = make_rounds(flows, ranks, options);
    result.files = make_conversion(source, all, result, options);
    if (!options.report.empty())
        result.bins = result.files ? result.files->bins : bins_of(flows);
    if (!options.picture.empty())
        write_plan_picture(options.picture, flows, result.rounds.rounds, options.budget);
    return result;
}

/// What a rank needs where all is done in one round.
///
/// \throws error with errc::overflow where that does not fit 64 bits
index_t peak_of(dry_run const& run, std::size_t rank) {
    constexpr auto what = "the bytes of a rank";
    detail::process_memory const& held = run.memory[rank];
    return detail::checked_add(detail::checked_add(held.source_bytes, held.target_bytes, what),
                               detail::staging_of(run.cost.by_process[rank]), what);
}

json::array json_of_ranks(dry_run const& run) {
    json::array list;
    for (std::size_t rank = 0; rank < run.memory.size(); ++rank) {
        process_cost const& one = run.cost.by_process[rank];
        list.push_back({{"rank", rank},
                        {"bytes_in", one.bytes_in},
                        {"bytes_out", one.bytes_out},
                        {"bytes_local", one.bytes_local},
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

json::object json_of(dry_run const& run, bool key_details) {
    json::object document{
        {"source_ranks", run.source_ranks},
        {"target_ranks", run.target_ranks},
        {"keys", run.keys.size()},
        {"source_pieces", run.source_pieces},
        {"target_pieces", run.target_pieces},
        {"transfers", run.cost.transfers},
        {"messages", run.cost.messages},
        {"bytes", run.cost.bytes},
        {"bytes_local", run.cost.bytes_local},
        {"peak_extra_bytes", run.cost.peak_extra_bytes},
        {"imbalance",
         {{"bytes_in", imbalance(run.cost, &process_cost::bytes_in)},
          {"bytes_out", imbalance(run.cost, &process_cost::bytes_out)}}},
        {"least_memory_budget", run.rounds.least_budget},
        {"rounds", json_of_rounds(run)},
        {"by_rank", json_of_ranks(run)},
        {"planning", {{"seconds", run.seconds}, {"peak_extra_bytes", run.planning_bytes}}}};
    if (run.files)
        document["convert"] = json_of(*run.files);
    if (!key_details)
        return document;
    json::object details;
    for (std::size_t i = 0; i < run.keys.size(); ++i)
        details[run.keys[i]] = {{"transfers", run.by_key[i].transfers},
                                {"bytes", run.by_key[i].bytes}};
    document["key_details"] = std::move(details);
    return document;
}

/// The ranks that the table shows: all, or of many those that move most, and how many are left out.
std::pair<std::vector<std::size_t>, std::size_t> shown_ranks(plan_cost const& cost) {
    constexpr std::size_t most = 64, shown = 16;
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < cost.by_process.size(); ++rank)
        ranks.push_back(rank);
    if (ranks.size() <= most)
        return {ranks, 0};
    auto const moved = [&](std::size_t rank) {
        process_cost const& one = cost.by_process[rank];
        return static_cast<double>(one.bytes_in) + static_cast<double>(one.bytes_out);
    };
    std::ranges::stable_sort(ranks, std::greater<>(), moved);
    std::size_t const left_out = ranks.size() - shown;
    ranks.resize(shown);
    return {ranks, left_out};
}

std::string rank_table(dry_run const& run) {
    auto const [ranks, left_out] = shown_ranks(run.cost);
    std::vector<std::vector<std::string>> rows{{"rank", "bytes in", "bytes out", "bytes local",
                                                "messages in", "messages out", "peak memory"}};
    for (std::size_t const rank : ranks) {
        process_cost const& one = run.cost.by_process[rank];
        rows.push_back({std::to_string(rank), grouped(one.bytes_in), grouped(one.bytes_out),
                        grouped(one.bytes_local), std::to_string(one.messages_in),
                        std::to_string(one.messages_out), grouped(peak_of(run, rank))});
    }
    return table(rows) + (left_out == 0 ? ""
                                        : "  and " + counted(left_out, "rank") +
                                              " that move no more; --json lists all\n");
}

std::string round_table(dry_run const& run) {
    constexpr std::size_t most = 64;
    auto const& rounds = run.rounds.rounds;
    std::vector<std::vector<std::string>> rows{
        {"round", "keys", "bytes", "bytes local", "peak memory", "of rank", "first key"}};
    for (std::size_t i = 0; i < std::min(most, rounds.size()); ++i)
        rows.push_back({std::to_string(i + 1), std::to_string(rounds[i].last - rounds[i].first),
                        grouped(rounds[i].bytes), grouped(rounds[i].bytes_local),
                        grouped(rounds[i].peak_bytes), std::to_string(rounds[i].peak_process),
                        run.keys[rounds[i].first]});
    return table(rows) +
           (rounds.size() <= most
                ? ""
                : "  and " + counted(rounds.size() - most, "round") + " more; --json lists all\n");
}

std::string ratio_text(double ratio) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", ratio);
    return text;
}

/// Above what else is said of a checkpoint, which has no ranks.
constexpr char const in_memory_text[] =
    "the same among ranks, if file i of the checkpoint were in the memory of rank i:\n";

std::string text_of(dry_run const& run, plan_command const& options) {
    std::string text = run.files ? text_of(*run.files) + in_memory_text : std::string();
    text +=
        counted(run.source_ranks, "rank") + " to " + counted(run.target_ranks, "rank") + ", " +
        counted(run.keys.size(), "key") + ": " + grouped(run.source_pieces) + " source pieces, " +
        grouped(run.target_pieces) + " target pieces\n" + grouped(run.cost.transfers) +
        " transfers of " + grouped(run.cost.bytes) + " bytes, " + grouped(run.cost.bytes_local) +
        " of them within a rank, in " + grouped(run.cost.messages) + " messages\n" +
        "the busiest rank gets " + ratio_text(imbalance(run.cost, &process_cost::bytes_in)) +
        " times the mean, and gives " + ratio_text(imbalance(run.cost, &process_cost::bytes_out)) +
        " times the mean\n" +
        "the least memory budget with which it can be done: " + grouped(run.rounds.least_budget) +
        " bytes\n" + rank_table(run);
    if (options.budget)
        text += counted(run.rounds.rounds.size(), "round") + " within " + grouped(*options.budget) +
                " bytes on each rank\n" + round_table(run);
    if (!options.key_details)
        return text;
    std::vector<std::vector<std::string>> rows{{"key", "transfers", "bytes"}};
    for (std::size_t i = 0; i < run.keys.size(); ++i)
        rows.push_back(
            {run.keys[i], grouped(run.by_key[i].transfers), grouped(run.by_key[i].bytes)});
    return text + table(rows);
}

/// How long planning took, and how much memory.
std::string planning_text(dry_run const& run) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f", run.seconds);
    return "planned in " + std::string(seconds) + " s with " + byte_text(run.planning_bytes) +
           " of memory\n";
}

/// The mesh of a layout file, if it has one.
std::optional<mesh> mesh_of(job_files const& files) {
    detail::layout_file const target = read_target(files.target);
    auto const* const rules = std::get_if<detail::layout_rules>(&target);
    return rules ? std::optional(rules->ranks) : std::nullopt;
}

void write_page(plan_command const& options, source_spec const& source, job const& all,
                dry_run const& run) {
    std::vector<std::string> remarks;
    for (aoa::finding const& one : all.findings())
        remarks.push_back(text_of(all, one, options.files, kind_of(one) + ": "));
    remarks.insert(remarks.end(), all.notes.begin(), all.notes.end());
    if (!all.unwritten.empty())
        remarks.push_back(all.unwritten);
    json::object const document = json_of(run, options.key_details);
    detail::write_whole_file(
        options.report,
        plan_page({options.files.source, options.files.target, document, source, *all.target,
                   mesh_of(options.files), *run.bins, run.rounds.rounds, options.budget, remarks}));
}

outcome plan_dry(plan_command const& options, bool as_json) {
    stopwatch const watch;
    detail::memory_watch const memory;
    source_spec const source = read_source(options.files.source);
    job const all = make_sound_job(source.held, options.files);
    print_notes(all, options.files);
    dry_run run = with_files(options.files, [&] { return make_dry_run(source, all, options); });
    run.seconds = watch.seconds();
    run.planning_bytes = memory.most_bytes();
    if (!options.report.empty())
        write_page(options, source, all, run);
    return as_json ? json_outcome(json_of(run, options.key_details))
                   : outcome{text_of(run, options) + planning_text(run)};
}

/// `--memory-budget` and `--picture`.
void add_plan_options(CLI::App& command, plan_command& options) {
    command
        .add_option_function<index_t>(
            "--memory-budget", [&options](index_t const& bytes) { options.budget = bytes; },
            "The most bytes of tensors and staging on a rank, as in 80GB: keys are filled in "
            "rounds, "
            "and a source that no later round needs is given up")
        ->transform(CLI::Validator(complaint_about_bytes, "SIZE"));
    command
        .add_option("--picture", options.picture,
                    "Write a picture of who sends whom, and of the rounds, to a file that ends in "
                    ".svg; one that is there is replaced")
        ->check(complaint_about_picture, "");
}

} // namespace

void add_plan(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<plan_command>();
    CLI::App* const command =
        add_command(app, chosen, "plan",
                    "Show who would send what, without sending it; of a checkpoint, what convert "
                    "reads and writes with the target as its --layout",
                    "  reshard plan --source six.json --target two.json --picture plan.svg\n"
                    "  reshard plan --source model --target layout.json --program fuse.aoa "
                    "--memory-budget 80GB --json");
    add_source(*command, chosen, options->files);
    add_target(*command, chosen, options->files)->required();
    add_reverse(*command, options->files, add_program(*command, options->files));
    add_partial(*command, options->files, "target");
    add_cut_fused(*command, options->files);
    add_replicas(*command, options->replicas, options->per_rank);
    command->add_flag("--key-details", options->key_details, "Also what each key costs");
    add_plan_options(*command, *options);
    add_report(*command, options->report,
               "that shows who holds what, who sends whom, and the rounds");
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return on_first(world, [&] { return plan_dry(*options, chosen.json); });
        };
    });
}

} // namespace tool
