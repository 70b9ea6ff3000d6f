// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "findings.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "page/check_page.hpp"
#include "program_text.hpp"
#include "spec.hpp"
#include "summary.hpp"

#include <reshard/aoa/check.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

struct check_report {
    reshard::vector<reported> findings;
    detail::key_classes keys;
    std::string why_not; ///< why the program cannot be undone; empty if it can
    catalog made;        ///< the changed tensors, with the target's parts
    bool strict = false; ///< a warning makes the command fail
    std::string program; ///< the program text as it was run; empty if it has errors

    std::size_t count(std::string_view severity) const { return count_of(severity, findings); }
    bool ok() const { return count("error") == 0; }
    bool is_refused() const { return ok() && strict && count("warning") > 0; }
};

/// The tensors that a program renames, transforms or adds.
catalog made_by(job const& full_job, detail::key_classes const& keys) {
    reshard::vector<catalog_entry> entries;
    for (auto const* const list : {&keys.renamed, &keys.transformed, &keys.added})
        for (std::string const& key : *list)
            if (mapping_output const* const output = full_job.map().find(key)) {
                catalog_entry const* const wanted =
                    full_job.wanted ? full_job.wanted->find(key) : nullptr;
                index_vector const& shape = output->value.shape;
                entries.push_back({key, output->value.dtype, shape,
                                   wanted && wanted->shape == shape
                                       ? wanted->parts
                                       : index_vector::filled(shape.size(), 1)});
            }
    return catalog(std::move(entries));
}

/// Runs a stage. Errors in the program or in the target's shards become findings; other errors are
/// thrown.
template <class Stage>
void find_errors(check_report& report, job_files const& files, Stage&& stage) {
    try {
        with_files(files, stage);
    } catch (error const& problem) {
        std::string const text = problem.what();
        bool const is_cover =
            problem.code() == errc::not_covered || problem.code() == errc::overlap;
        bool const is_unread = problem.code() == errc::missing_file ||
                               problem.code() == errc::corrupt_file || problem.code() == errc::io;
        if (!is_unread && !files.program.empty() && text.starts_with(files.program + ":"))
            report.findings.push_back(report_of(problem, files.program));
        else if (is_cover)
            report.findings.push_back(
                report_of(problem, text.starts_with(files.source) ? files.source : files.target));
        else
            throw;
    }
}

/// Adds the warnings of opening the source. Each text begins with the path of the source.
void add_warnings(check_report& report, source_spec const& source) {
    if (!source.checkpoint)
        return;
    for (std::string const& text : source.checkpoint->warnings) {
        std::string const location = source.path + ": ";
        std::string const message =
            text.starts_with(location) ? text.substr(location.size()) : text;
        report.findings.push_back({"warning",
                                   "checkpoint",
                                   {},
                                   message,
                                   source.path,
                                   {},
                                   {},
                                   location + "warning: " + message,
                                   location + message});
    }
}

void add_findings(check_report& report, job const& full_job, catalog const& source,
                  job_files const& files) {
    aoa::program_report program_report{full_job.code(), full_job.expanded.findings, {}, {}};
    if (full_job.expanded.is_complete)
        program_report = aoa::check(full_job.expanded, full_job.lowered, source,
                                    full_job.wanted ? &*full_job.wanted : nullptr);
    program_report.findings.insert(program_report.findings.end(), full_job.notes.begin(),
                                   full_job.notes.end());
    std::ranges::move(reports_of(full_job.code(), program_report.findings, files),
                      std::back_inserter(report.findings));
    report.keys = std::move(program_report.keys);
    report.made = made_by(full_job, report.keys);
    report.why_not = why_not_invertible(program_report);
}

check_report make_report(job_files files) {
    source_spec const source = read_source(files.source, files.reading);
    if (source.checkpoint) {
        files.aliases = source.checkpoint->aliases;
        files.objects = object_keys(*source.checkpoint);
    }
    check_report report;
    report.strict = files.strict_warnings;
    add_warnings(report, source);
    job full_job;
    find_errors(report, files, [&] {
        full_job = make_job(source, files);
        note_renamed_away(full_job, catalog_of(source.held), files);
        report.program = full_job.written.text;
        add_findings(report, full_job, catalog_of(source.held), files);
    });
    find_errors(report, files, [&] {
        check_cover(full_job, files);
        // A layout lacks the tensors that the program quantizes.
        if (full_job.target && full_job.map().quantised().empty())
            make_plan(problem_of(full_job.map(), source.held, *full_job.target));
    });
    if (!report.ok())
        report.why_not = "the program has errors";
    return report;
}

json::value json_of(reported const& report) {
    auto const number = [&](std::size_t aoa::place::*member) {
        return report.where ? json::value((*report.where).*member) : json::value(nullptr);
    };
    return {{"severity", json_text(report.severity)}, {"code", json_text(report.code)},
            {"key", json_text(report.key)},           {"message", json_text(report.message)},
            {"file", json_text(report.file)},         {"line", number(&aoa::place::line)},
            {"column", number(&aoa::place::column)},  {"chain", json_texts(report.chain)}};
}

json::array json_of(catalog const& catalog) {
    json::array list;
    for (catalog_entry const& entry : catalog)
        list.push_back({{"key", json_text(entry.key)},
                        {"dtype", json_text(code(entry.dtype))},
                        {"shape", json_list(entry.shape)},
                        {"parts", json_list(entry.parts)}});
    return list;
}

json::object json_of(check_report const& report) {
    json::array findings;
    for (reported const& reported : report.findings)
        findings.push_back(json_of(reported));
    std::string const& reason = report.why_not;
    return {{"ok", report.ok() && !report.is_refused()},
            {"findings", std::move(findings)},
            {"keys",
             {{"identity", json_texts(report.keys.identity)},
              {"renamed", json_texts(report.keys.renamed)},
              {"transformed", json_texts(report.keys.transformed)},
              {"added", json_texts(report.keys.added)},
              {"removed", json_texts(report.keys.removed)}}},
            {"made", json_of(report.made)},
            {"invertible", reason.empty()},
            {"why_not", reason.empty() ? json::value(nullptr) : json::value(json_text(reason))}};
}

/// For example `3 errors, 1 warning`.
std::string counts_text(check_report const& report) {
    std::size_t const errors = report.count("error"), warnings = report.count("warning");
    if (report.is_refused())
        return bold(counted(warnings, "warning")) + (warnings == 1 ? ", which is" : ", which are") +
               " refused (--strict-warnings)";
    return (errors > 0 ? bold(counted(errors, "error")) : std::string("ok")) +
           (warnings > 0 ? ", " + counted(warnings, "warning") : "");
}

/// The keys by the kind of their change.
std::string text_of(detail::key_classes const& keys) {
    std::string text;
    for (auto const& [noun, list] :
         {std::pair{"identity", &keys.identity}, std::pair{"renamed", &keys.renamed},
          std::pair{"transformed", &keys.transformed}, std::pair{"added", &keys.added},
          std::pair{"removed", &keys.removed}})
        if (!list->empty())
            text += std::string(noun) + ": " + grouped(static_cast<index_t>(list->size())) + ": " +
                    listed(*list) + "\n";
    return text;
}

/// The output of the command; as with all commands, notes go to standard error.
std::string text_of(check_report const& report) {
    std::string text;
    for (finding_group const& group : groups_of(report.findings)) {
        if (group.first->severity == "note")
            note(group.first->plain + same_text(group));
        else
            text += group.first->text + same_text(group) + "\n";
    }
    text += text_of(report.keys);
    text += report.made.empty() ? "" : tensor_table(report.made, false);
    text += report.why_not.empty() ? "invertible\n" : "not invertible: " + report.why_not + "\n";
    return text + counts_text(report) + "\n";
}

void write_page(std::string const& path, check_report const& report, job_files const& files) {
    reshard::vector<std::string> texts;
    for (reported const& reported : report.findings)
        texts.push_back(reported.text);
    detail::write_whole_file(
        path, check_page(json_of(report), texts, files.program,
                         report.program.empty() ? stored_program(files.program) : report.program));
}

outcome check_job(job_files const& files, std::string const& page, bool as_json) {
    check_report const report = make_report(files);
    if (!page.empty())
        write_page(page, report, files);
    int const status = !report.ok() ? no : report.is_refused() ? refused_input : done;
    return as_json ? json_outcome(json_of(report), status) : outcome{text_of(report), status};
}

} // namespace

void add_check(CLI::App& app, invocation& chosen) {
    auto const files = std::make_shared<job_files>();
    auto const page = std::make_shared<std::string>();
    CLI::App* const command = add_command(
        app, chosen, "check",
        "Report everything that is wrong with a program or a target, before any byte moves",
        "  reshard check --program fuse.aoa --source model\n"
        "  reshard check --program fuse.aoa --source model --target layout.json --json");
    add_reverse(*command, chosen, *files, add_program_or_renames(*command, *files));
    add_source(*command, chosen, *files);
    CLI::Option* const target = add_target(*command, chosen, *files);
    add_partial(*command, *files, "target")->needs(target);
    add_cut_fused(*command, *files);
    add_strict(*command, *files);
    add_strict_warnings(*command, *files);
    add_report(*command, *page, "that shows all findings with their source text");
    command->callback([files, page, &chosen] {
        chosen.run = [files, page, &chosen](processes const& world) {
            return on_first(world, [&] { return check_job(*files, *page, chosen.json); });
        };
    });
}

} // namespace tool
