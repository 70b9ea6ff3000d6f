// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "analysis.hpp"
#include "command.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "spec.hpp"

#include <reshard/plan/make_plan.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <sstream>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

/// A finding as the report has it.
struct reported {
    std::string severity;
    std::string code;
    std::string key;
    std::string message;
    std::string file;
    std::optional<aoa::place> where; ///< in the program
    std::vector<std::string> chain;
    std::string text; ///< for people
};

struct check_report {
    std::vector<reported> findings;
    key_classes keys;
    std::vector<loss> losses;

    bool ok() const {
        return std::none_of(findings.begin(), findings.end(),
                            [](reported const& one) { return one.severity == "error"; });
    }
};

reported report_of(job const& all, aoa::finding const& one, job_files const& files) {
    bool const is_placed = one.where.last > one.where.first;
    reported result{std::string(name_of(one.level)),
                    one.code,
                    one.key,
                    one.message,
                    is_placed ? files.program : files.target,
                    std::nullopt,
                    aoa::macro_chain(all.code, one.origin),
                    text_of(all, one, files)};
    if (is_placed)
        result.where = all.code.place_at(one.where.first);
    return result;
}

/// An error that stopped a stage: `file:line:column: kind: message`, then lines that show the place, then
/// lines with the chain of macros. The parts behind the file need not be there.
reported report_of(error const& problem, std::string const& file) {
    std::string const text = problem.what();
    std::istringstream lines(text);
    std::string message, line;
    std::getline(lines, message);
    message = message.substr(std::min(message.size(), file.size() + 1));
    reported result{"error", std::string(name(problem.code())), {}, {}, file, {}, {}, text};
    std::istringstream head(message);
    aoa::place where;
    char colon = 0;
    if (head >> where.line >> colon >> where.column >> colon) {
        result.where = where;
        std::getline(head, message);
        message = message.substr(message.find(": ") + 1);
    }
    result.message = message.substr(std::min(message.size(), message.find_first_not_of(' ')));
    constexpr std::string_view link = "  expanded by ";
    while (std::getline(lines, line))
        if (line.starts_with(link))
            result.chain.push_back(line.substr(link.size()));
    return result;
}

/// Runs a stage. An error in the program, or of the target's shards, is a finding; others are thrown.
template <class Stage>
void find_errors(check_report& report, job_files const& files, Stage&& stage) {
    try {
        with_files(files, stage);
    } catch (error const& problem) {
        std::string const text = problem.what();
        bool const is_cover =
            problem.code() == errc::not_covered || problem.code() == errc::overlap;
        if (!files.program.empty() && text.starts_with(files.program + ":"))
            report.findings.push_back(report_of(problem, files.program));
        else if (is_cover)
            report.findings.push_back(
                report_of(problem, text.starts_with(files.source) ? files.source : files.target));
        else
            throw;
    }
}

check_report make_report(job_files const& files) {
    source_spec const source = read_source(files.source);
    check_report report;
    find_errors(report, files, [&] {
        job const all = make_job(source.held, files);
        for (aoa::finding const& one : all.findings)
            report.findings.push_back(report_of(all, one, files));
        report.keys = classify(all.map);
        report.losses = losses_of(all.map);
        if (all.target)
            make_plan(problem_of(all.map, source.held, *all.target));
    });
    if (report.ok())
        for (loss const& one : report.losses)
            report.findings.push_back({"note",
                                       "unused",
                                       one.key,
                                       "'" + one.key + "' " + one.text,
                                       files.source,
                                       std::nullopt,
                                       {},
                                       files.source + ": '" + one.key + "' " + one.text});
    return report;
}

/// Why the program cannot be undone, or nothing.
std::string why_not(check_report const& report) {
    if (!report.ok())
        return "the program has errors";
    if (report.losses.empty())
        return {};
    std::size_t const more = report.losses.size() - 1;
    return "'" + report.losses.front().key + "' " + report.losses.front().text +
           (more > 0 ? "; and " + grouped(static_cast<index_t>(more)) + " more" : "");
}

json::value json_of(reported const& one) {
    auto const number = [&](std::size_t aoa::place::*part) {
        return one.where ? json::value((*one.where).*part) : json::value(nullptr);
    };
    return {{"severity", json_text(one.severity)},
            {"code", json_text(one.code)},
            {"key", json_text(one.key)},
            {"message", json_text(one.message)},
            {"file", json_text(one.file)},
            {"line", number(&aoa::place::line)},
            {"column", number(&aoa::place::column)},
            {"chain", json_texts(one.chain)}};
}

json::object json_of(check_report const& report) {
    json::array findings;
    for (reported const& one : report.findings)
        findings.push_back(json_of(one));
    std::string const reason = why_not(report);
    return {{"ok", report.ok()},
            {"findings", std::move(findings)},
            {"keys",
             {{"identity", json_texts(report.keys.identity)},
              {"renamed", json_texts(report.keys.renamed)},
              {"transformed", json_texts(report.keys.transformed)},
              {"added", json_texts(report.keys.added)},
              {"removed", json_texts(report.keys.removed)}}},
            {"invertible", reason.empty()},
            {"why_not", reason.empty() ? json::value(nullptr) : json::value(json_text(reason))}};
}

std::string text_of(check_report const& report) {
    std::string text;
    for (reported const& one : report.findings)
        text += one.text + "\n";
    for (auto const& [what, keys] :
         {std::pair{"identity", &report.keys.identity}, std::pair{"renamed", &report.keys.renamed},
          std::pair{"transformed", &report.keys.transformed},
          std::pair{"added", &report.keys.added}, std::pair{"removed", &report.keys.removed}})
        if (!keys->empty())
            text += std::string(what) + ": " + grouped(static_cast<index_t>(keys->size())) + ": " +
                    listed(*keys) + "\n";
    std::string const reason = why_not(report);
    text += reason.empty() ? "invertible\n" : "not invertible: " + reason + "\n";
    return text + (report.ok() ? "ok" : bold("errors")) + "\n";
}

outcome check_job(job_files const& files, bool as_json) {
    check_report const report = make_report(files);
    int const status = report.ok() ? done : no;
    return as_json ? json_outcome(json_of(report), status) : outcome{text_of(report), status};
}

} // namespace

void add_check(CLI::App& app, invocation& chosen) {
    auto const files = std::make_shared<job_files>();
    CLI::App* const command = add_command(
        app, chosen, "check", "Report all that is wrong with a program before any byte moves",
        "  reshard check --program fuse.aoa --source model\n"
        "  reshard check --program fuse.aoa --source model --target layout.json --json");
    add_program(*command, *files)->required();
    add_source(*command, *files);
    add_target(*command, *files);
    add_partial(*command, *files, "target");
    command->callback([files, &chosen] {
        chosen.run = [files, &chosen](processes const& world) {
            return on_first(world, [&] { return check_job(*files, chosen.json); });
        };
    });
}

} // namespace tool
