// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "dry_run.hpp"
#include "findings.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "page/plan_page.hpp"
#include "picture/byte_text.hpp"
#include "picture/duration_text.hpp"
#include "plan_picture.hpp"
#include "spec.hpp"
#include "summary.hpp"

#include <reshard/format/layout_file.hpp>
#include <reshard/format/written_formats.hpp>
#include <reshard/layout/holder.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/storage/convert.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

/// The ranks that the table shows, and the number of omitted ranks. If there are many ranks, it
/// shows those that move the most bytes.
std::pair<reshard::vector<std::size_t>, std::size_t> shown_ranks(plan_cost const& cost) {
    constexpr std::size_t most = 64, shown = 16;
    reshard::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < cost.by_process.size(); ++rank)
        ranks.push_back(rank);
    if (ranks.size() <= most)
        return {ranks, 0};
    auto const moved = [&](std::size_t rank) {
        process_cost const& process_cost = cost.by_process[rank];
        return static_cast<double>(process_cost.bytes_in) +
               static_cast<double>(process_cost.bytes_out);
    };
    std::ranges::stable_sort(ranks, std::greater<>(), moved);
    std::size_t const left_out = ranks.size() - shown;
    ranks.resize(shown);
    return {ranks, left_out};
}

std::string rank_table(dry_run const& run) {
    auto const [ranks, left_out] = shown_ranks(run.cost);
    reshard::vector<reshard::vector<std::string>> rows{{"rank", "bytes in", "bytes out",
                                                        "bytes local", "messages in",
                                                        "messages out", "peak memory"}};
    for (std::size_t const rank : ranks) {
        process_cost const& cost = run.cost.by_process[rank];
        rows.push_back({std::to_string(rank), grouped(cost.bytes_in), grouped(cost.bytes_out),
                        grouped(cost.bytes_local), std::to_string(cost.messages_in),
                        std::to_string(cost.messages_out), grouped(peak_of(run, rank))});
    }
    return table(rows) + (left_out == 0 ? ""
                                        : "  and " + counted(left_out, "rank") +
                                              " that move at most as much; --json lists all\n");
}

std::string round_table(dry_run const& run) {
    constexpr std::size_t most = 64;
    auto const& rounds = run.rounds.rounds;
    reshard::vector<reshard::vector<std::string>> rows{
        {"round", "keys", "bytes", "bytes local", "peak memory", "of rank", "first key"}};
    for (std::size_t i = 0; i < std::min(most, rounds.size()); ++i)
        rows.push_back({std::to_string(i + 1), std::to_string(rounds[i].last - rounds[i].first),
                        grouped(rounds[i].bytes), grouped(rounds[i].bytes_local),
                        grouped(rounds[i].peak_bytes), std::to_string(rounds[i].peak_process),
                        run.keys[rounds[i].first]});
    return table(rows) +
           (rounds.size() <= most
                ? ""
                : "  and " + counted(rounds.size() - most, "more round") + "; --json lists all\n");
}

std::string ratio_text(double ratio) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", ratio);
    return text;
}

/// Precedes the text about ranks, if the source is a checkpoint, which has no ranks.
constexpr char const in_memory_text[] =
    "the same among ranks, if file i of the checkpoint were in the memory of rank i:\n";

/// Says which process plays which rank.
std::string text_of(relabelling const& played) {
    constexpr std::size_t most = 64;
    std::string text = "relabelled: " + grouped(played.bytes_kept) + " of " +
                       grouped(played.bytes) + " bytes stay in their processes, " +
                       grouped(played.bytes_kept_before) +
                       " if process i plays rank i\nranks 0, 1, ... are played by processes";
    for (std::size_t rank = 0; rank < std::min(most, played.process_of.size()); ++rank)
        text += (rank == 0 ? " " : ", ") + std::to_string(played.process_of[rank]);
    return text + (played.process_of.size() > most ? ", ...; --json lists all\n" : "\n");
}

/// The busiest ranks. Without relays, also the least load for any choice of senders.
std::string text_of(plan_balance const& balance, bool relays) {
    auto const line = [&](std::string const& who, plan_balance::extreme const& busiest) {
        return who + " " + std::to_string(busiest.number) + " sends " + grouped(busiest.bytes) +
               " bytes to others" +
               (relays ? std::string()
                       : "; with any choice of senders, one of them sends at least " +
                             grouped(busiest.least_bytes)) +
               "\n";
    };
    std::string text = balance.sender.bytes > 0 ? line("rank", balance.sender) : std::string();
    if (balance.link != plan_balance::extreme{})
        text += line("node", balance.link);
    return text;
}

/// The number of relayed transfers and bytes; empty without relays.
std::string relay_text(dry_run const& run) {
    if (run.cost.relays == 0)
        return "";
    index_t bytes = 0;
    for (process_cost const& cost : run.cost.by_process)
        bytes += cost.bytes_relayed;
    return grouped(run.cost.relays) + " of the transfers, " + grouped(bytes) +
           " bytes, are passed on by ranks that need the same elements\n";
}

/// The least memory budget. Empty with relays, which cannot run in rounds.
std::string budget_text(dry_run const& run) {
    return run.relays
               ? ""
               : "the least memory budget that is enough: " + grouped(run.rounds.least_budget) +
                     " bytes\n";
}

/// The gain from relays if there were no rounds.
std::string omitted_text(dry_run const& run) {
    return !run.omitted || !run.omitted->is_worth_it()
               ? ""
               : "in a single round, ranks could pass on the bytes that several nodes need: "
                 "the busiest link would then need " +
                     duration_text(run.omitted->relayed) + " instead of " +
                     duration_text(run.omitted->direct) + "\n";
}

std::string numbered(index_t count, std::string const& noun) {
    return counted(static_cast<std::size_t>(count), noun);
}

std::string text_of(dry_run const& run, plan_command const& options) {
    std::string text = run.files ? text_of(*run.files) + in_memory_text : std::string();
    if (run.played)
        text += text_of(*run.played);
    text += counted(run.source_ranks, "rank") + " to " + counted(run.target_ranks, "rank") + ", " +
            counted(run.keys.size(), "key") + ": " + numbered(run.source_pieces, "source piece") +
            ", " + numbered(run.target_pieces, "target piece") + "\n" +
            numbered(run.cost.transfers, "transfer") + " of " + numbered(run.cost.bytes, "byte") +
            ", " + grouped(run.cost.bytes_local) + " of them within a rank, in " +
            numbered(run.cost.messages, "message") + "\nthe busiest rank receives " +
            ratio_text(run.cost.imbalance(&process_cost::bytes_in)) +
            " times the mean, and sends " +
            ratio_text(run.cost.imbalance(&process_cost::bytes_out)) + " times the mean\n" +
            relay_text(run) + text_of(run.balance, run.relays) + budget_text(run) +
            omitted_text(run) + rank_table(run);
    if (run.simulated)
        text += text_of(*run.simulated);
    if (options.budget)
        text += counted(run.rounds.rounds.size(), "round") + " within " + grouped(*options.budget) +
                " bytes on each rank\n" + round_table(run);
    if (!options.key_details)
        return text;
    reshard::vector<reshard::vector<std::string>> rows{{"key", "transfers", "bytes"}};
    for (std::size_t i = 0; i < run.keys.size(); ++i)
        rows.push_back(
            {run.keys[i], grouped(run.by_key[i].transfers), grouped(run.by_key[i].bytes)});
    return text + table(rows);
}

/// The time and the memory for planning.
std::string planning_text(dry_run const& run) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f", run.seconds);
    return "planned in " + std::string(seconds) + " s with " + byte_text(run.planning_bytes) +
           " of memory\n";
}

/// The mesh of a layout file; std::nullopt if it has none.
std::optional<mesh> mesh_of(job_files const& files) {
    detail::layout_file const target = read_target(files.target, files.reading.mode);
    auto const* const rules = std::get_if<detail::layout_rules>(&target);
    return rules ? std::optional(rules->ranks) : std::nullopt;
}

std::string page_of(plan_command const& options, source_spec const& source, job const& full_job,
                    dry_run const& run) {
    reshard::vector<std::string> remarks;
    for (reported const& report : reports_of(full_job.code(), full_job.findings(), options.files))
        remarks.push_back(report.text);
    if (!full_job.unwritten.empty())
        remarks.push_back(full_job.unwritten);
    json::object const document = json_of(run, options.key_details);
    return plan_page({options.files.source, options.files.target, document, source,
                      *full_job.target, options.relabels ? std::nullopt : mesh_of(options.files),
                      *run.bins, run.rounds.rounds, options.budget, run.simulated, remarks});
}

/// Writes all requested files, or no file.
void write_files(plan_command const& options, source_spec const& source, job const& full_job,
                 dry_run const& run) {
    reshard::vector<detail::whole_file> files;
    if (!options.picture.empty())
        files.push_back({options.picture, run.picture});
    if (!options.report.empty())
        files.push_back({options.report, page_of(options, source, full_job, run)});
    if (!options.relabelled.empty())
        files.push_back({options.relabelled, detail::to_json(detail::table_of(*full_job.target))});
    detail::write_whole_files(files);
}

/// Warns about values that would be lost because `convert` refuses or silently omits them; returns
/// the number of warnings.
std::size_t say_lost(source_spec const& source, plan_command const& options) {
    check_replicas(options.replicas || options.per_rank, options.to);
    check_shared(options.share_copies, options.to);
    if (!options.to.empty() && !source.checkpoint)
        fail(errc::usage, options.files.source,
             ": --to applies only to checkpoints, and this is a layout");
    if (options.no_objects)
        return source.checkpoint && !source.checkpoint->objects.empty()
                   ? say_lost_tensors(
                         open_checkpoint(solo(), source.path, {.format = source.reading}), true)
                   : 0;
    std::string const lost = lost_objects_of(source, options.to);
    return lost.empty() ? 0 : say_warnings({lost});
}

/// Whether two paths mean the same file, which need not exist.
bool is_one_file(std::filesystem::path const& a, std::filesystem::path const& b) {
    auto const absolute = [](std::filesystem::path const& path) {
        std::error_code ignored;
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
    };
    return absolute(a) == absolute(b);
}

/// Checks the output files before planning. The new layout may replace a file, but not one that the
/// command also reads or writes.
void check_written(plan_command const& options) {
    for (std::string const& written : {options.picture, options.report, options.relabelled})
        detail::check_parent(written);
    for (std::string const& written : {options.picture, options.report})
        if (!written.empty() && is_one_file(written, options.relabelled))
            fail(errc::usage, options.relabelled, ": --write-layout would overwrite ", written,
                 ", which this command also writes; give another path");
    for (std::string const& read :
         {options.files.source, options.files.target, options.files.program, options.network}) {
        std::error_code ignored;
        if (!options.relabelled.empty() &&
            std::filesystem::equivalent(options.relabelled, read, ignored))
            fail(errc::usage, options.relabelled,
                 ": --write-layout would overwrite a file that this command reads; give "
                 "another path");
    }
}

/// Plans, and reassigns the target's ranks to processes if requested.
dry_run planned(source_spec const& source, job& full_job, plan_command const& options) {
    elapsed_line const shown("planning", options.progress);
    std::optional<relabelling> played;
    if (options.relabels)
        played = relabel(source, full_job, options);
    dry_run run =
        with_files(options.files, [&] { return make_dry_run(source, full_job, options); });
    run.played = std::move(played);
    return run;
}

outcome plan_dry(plan_command const& options, bool as_json) {
    stopwatch const watch;
    detail::memory_watch const memory;
    check_written(options);
    source_spec const source = read_source(options.files.source, options.files.reading);
    job_files files = options.files;
    if (source.checkpoint && !options.no_objects)
        files.objects = object_keys(*source.checkpoint);
    job full_job = make_sound_job(source, files);
    std::size_t const warnings =
        count_warnings(full_job) +
        (source.checkpoint ? say_warnings(source.checkpoint->warnings) : 0) +
        say_lost(source, options) +
        (source.checkpoint ? say_lost_texts(*source.checkpoint, full_job.map(), options.to, true)
                           : 0) +
        (source.checkpoint ? say_taken_apart(*source.checkpoint, options.to, true) : 0);
    say_notes(full_job, options.files);
    check_fused_order(full_job, options.files, options.to);
    note_fused_lost(full_job, options.to);
    note_torch_lacks(full_job, options.to);
    refuse_warnings(warnings, options.files);
    dry_run run = planned(source, full_job, options);
    if (run.files)
        note_aliases(run.files->aliases);
    if (options.relays && run.cost.relays == 0)
        note("--relays has no effect: no two ranks on nodes without a holder need the same "
             "elements in the same type");
    run.seconds = watch.seconds();
    run.planning_bytes = memory.most_bytes();
    write_files(options, source, full_job, run);
    return as_json ? json_outcome(json_of(run, options.key_details))
                   : outcome{text_of(run, options) + planning_text(run)};
}

/// The formats that can store the planned layout.
reshard::vector<std::string> formats_of_layouts() {
    reshard::vector<std::string> names = detail::names_of_written_formats();
    erase_if(names,
             [](std::string const& name) { return !detail::written_format_of(name).has_shards(); });
    return names;
}

/// The error in a number of ranks per node; empty if it is valid.
std::string complaint_about_ranks(std::string const& text) {
    constexpr holder_t most = detail::most_ranks_named;
    holder_t number = 0;
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc() && end == text.data() + text.size() && number >= 1 &&
                   number <= most
               ? ""
               : "'" + text + "' is not a whole number from 1 to " + std::to_string(most);
}

/// Adds `--memory-budget` and `--picture`.
void add_plan_options(CLI::App& command, plan_command& options) {
    CLI::Option* const budget = command.add_option_function<index_t>(
        "--memory-budget", [&options](index_t const& bytes) { options.budget = bytes; },
        "The maximum memory of a rank for tensors and staging, such as 80GB: keys are filled "
        "in rounds, and a source is freed once no later round needs it");
    budget->transform(CLI::Validator(complaint_about_bytes, "SIZE"));
    command
        .add_flag("--relays", options.relays,
                  "Bytes that several ranks on other nodes need leave their sender only once, "
                  "and these ranks pass them on. --ranks-per-node or --network define the "
                  "nodes; without them, each rank is a node. With them, relays are used even "
                  "without this option if they are faster")
        ->excludes(budget);
    CLI::Option* const relabel =
        command.add_flag("--relabel", options.relabels,
                         "Assign the ranks of the target to the processes of the source so "
                         "that as few bytes as possible move, and show that plan");
    command
        .add_option("--write-layout", options.relabelled,
                    "Write a layout file for a restart: the target's layout with the processes "
                    "of --relabel as its ranks; an existing file is replaced")
        ->needs(relabel)
        ->check(complaint_about_file, "");
    command
        .add_option(
            "--network", options.network,
            "A file with the speed of memory and links, as measure-network writes it: also show "
            "how long the plan takes, what bounds it, and which links are the busiest")
        ->check(complaint_about_file, "");
    command
        .add_option(
            "--ranks-per-node", options.ranks_per_node,
            "The number of ranks that share a node: if several ranks hold the same elements, "
            "one on the receiver's node sends them, which spares the links between nodes. With "
            "--relabel, each rank stays on its node; with --network, this replaces the number "
            "in the file")
        ->check(complaint_about_ranks, "");
    command
        .add_option(
            "--picture", options.picture,
            "Write a picture of who sends to whom, of the rounds and, with --network, of the "
            "busiest links over time, to a file whose name ends in .svg; an existing file is "
            "replaced")
        ->check(complaint_about_picture, "");
}

} // namespace

void add_plan(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<plan_command>();
    CLI::App* const command =
        add_command(app, chosen, "plan",
                    "Show who would send what, without sending it; for a checkpoint, also what "
                    "convert would read and write with the target as its --layout",
                    "  reshard plan --source six.json --target two.json --relabel "
                    "--picture plan.svg\n"
                    "  reshard plan --source model --target layout.json --program fuse.aoa "
                    "--network network.json --relays --json");
    add_source(*command, chosen, options->files);
    add_target(*command, chosen, options->files)->required();
    command
        ->add_option("--to", options->to,
                     "The format that convert would write, one that stores the shards of a "
                     "layout; by default, sharded safetensors")
        ->check(CLI::IsMember(formats_of_layouts()));
    command->add_flag("--no-objects", options->no_objects,
                      "Omit values that are not tensors, as convert --no-objects does");
    add_reverse(*command, chosen, options->files, add_program_or_renames(*command, options->files));
    add_partial(*command, options->files, "target");
    add_cut_fused(*command, options->files);
    add_strict(*command, options->files);
    add_strict_warnings(*command, options->files);
    add_replicas(*command, options->replicas, options->per_rank);
    add_share_copies(*command, options->share_copies);
    command->add_flag("--key-details", options->key_details, "Also show the cost of each key");
    add_plan_options(*command, *options);
    add_report(*command, options->report,
               "that shows the holders, who sends to whom, and the rounds");
    add_progress(*command, options->progress);
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return on_first(world, [&] { return plan_dry(*options, chosen.json); });
        };
    });
}

} // namespace tool
