// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "page/check_page.hpp"
#include "spec.hpp"
#include "summary.hpp"

#include <reshard/aoa/check.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/put_in_place.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>

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
    detail::key_classes keys;
    std::string why_not; ///< empty: the program can be undone
    catalog made;        ///< what is not as it was, with the parts that the target cuts it into
    bool strict = false; ///< a warning is refused

    std::size_t count(std::string_view severity) const {
        return static_cast<std::size_t>(
            std::count_if(findings.begin(), findings.end(),
                          [&](reported const& one) { return one.severity == severity; }));
    }
    bool ok() const { return count("error") == 0; }
    bool is_refused() const { return ok() && strict && count("warning") > 0; }
};

/// The tensors that a program makes, those that are only as they were apart.
catalog made_by(job const& all, detail::key_classes const& keys) {
    std::vector<catalog_entry> made;
    for (auto const* const list : {&keys.renamed, &keys.transformed, &keys.added})
        for (std::string const& key : *list)
            if (mapping_output const* const output = all.map().find(key)) {
                catalog_entry const* const wanted = all.wanted ? all.wanted->find(key) : nullptr;
                index_vector const& shape = output->value.shape;
                made.push_back({key, output->value.dtype, shape,
                                wanted && wanted->shape == shape
                                    ? wanted->parts
                                    : index_vector::filled(shape.size(), 1)});
            }
    return catalog(std::move(made));
}

reported report_of(job const& all, aoa::finding const& one, job_files const& files) {
    reported result{std::string(detail::name_of(one.level)),
                    one.code,
                    one.key,
                    one.message,
                    file_of(one, files),
                    std::nullopt,
                    aoa::macro_chain(all.code(), one.origin),
                    text_of(all, one, files, kind_of(one) + ": ")};
    if (is_placed(one))
        result.where = all.code().place_at(one.where.first);
    return result;
}

/// An error that stopped a stage: `file:line:column: kind: message`, then lines that show the
/// place, then lines with the chain of macros. The parts behind the file need not be there.
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

/// Runs a stage. An error in the program, or of the target's shards, is a finding; others are
/// thrown.
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

/// What there is to say of a layout file besides; each text begins with the file.
reported note_of(std::string const& text, std::string const& file) {
    std::string const message = text.substr(std::min(text.size(), file.size() + 2));
    return {"note", "layout", {}, message, file, std::nullopt, {}, file + ": note: " + message};
}

void add_findings(check_report& report, job const& all, catalog const& source,
                  job_files const& files) {
    aoa::program_report found{all.code(), all.expanded.findings, {}, {}};
    if (all.expanded.is_complete)
        found = aoa::check(all.expanded, all.lowered, source, all.wanted ? &*all.wanted : nullptr);
    for (aoa::finding const& one : found.findings)
        report.findings.push_back(report_of(all, one, files));
    for (std::string const& text : all.notes)
        report.findings.push_back(note_of(text, files.target));
    report.keys = std::move(found.keys);
    report.made = made_by(all, report.keys);
    report.why_not = why_not_invertible(found);
}

check_report make_report(job_files const& files) {
    source_spec const source = read_source(files.source);
    check_report report;
    report.strict = files.strict_warnings;
    job all;
    find_errors(report, files, [&] {
        all = make_job(source.held, files);
        add_findings(report, all, catalog_of(source.held), files);
    });
    find_errors(report, files, [&] {
        check_cover(all, files);
        if (all.target)
            make_plan(problem_of(all.map(), source.held, *all.target));
    });
    if (!report.ok())
        report.why_not = "the program has errors";
    return report;
}

json::value json_of(reported const& one) {
    auto const number = [&](std::size_t aoa::place::*member) {
        return one.where ? json::value((*one.where).*member) : json::value(nullptr);
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

json::array json_of(catalog const& made) {
    json::array list;
    for (catalog_entry const& one : made)
        list.push_back({{"key", json_text(one.key)},
                        {"dtype", json_text(code(one.dtype))},
                        {"shape", json_list(one.shape)},
                        {"parts", json_list(one.parts)}});
    return list;
}

json::object json_of(check_report const& report) {
    json::array findings;
    for (reported const& one : report.findings)
        findings.push_back(json_of(one));
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

/// Findings that say the same of several tensors: the first one, and the keys of the others.
struct finding_group {
    reported const* first;
    std::vector<std::string> others;
    std::size_t nameless = 0; ///< more of them, of no tensor
};

/// What a key that nothing makes, or that lies apart from its scales, has in common with that of
/// other layers; empty for other findings.
std::string missing_kind(reported const& one) {
    bool const is_of_layout =
        one.code == name(errc::unknown_key) || one.code == name(errc::bad_layout);
    bool const is_missing = one.severity == "error" && !one.where && is_of_layout;
    return is_missing ? without_numbers(one.key) : "";
}

/// The statement that says of all keys of a kind that they have no source, where one does.
std::string addition_of(std::string const& kind) {
    std::size_t const star = kind.find('*');
    bool const is_plain =
        std::ranges::all_of(kind, [](char c) { return c == '*' || aoa::is_plain_char(c); });
    if (star == kind.npos || kind.rfind('*') != star || !is_plain)
        return {};
    return "_ -> " + kind.substr(0, star) + "$LAYER_ID" + kind.substr(star + 1);
}

std::vector<finding_group> groups_of(std::vector<reported> const& findings) {
    std::vector<finding_group> groups;
    std::map<std::tuple<std::string, std::string, std::size_t, std::size_t, std::string>,
             std::size_t>
        places;
    for (reported const& one : findings) {
        auto const where = one.where.value_or(aoa::place{0, 0});
        auto const [place, is_new] = places.emplace(
            std::tuple(one.severity, one.code, where.line, where.column, missing_kind(one)),
            groups.size());
        bool const is_alone = one.severity == "error" ? !one.where && missing_kind(one).empty()
                                                      : one.key.empty() && !one.where;
        if (is_new || is_alone)
            groups.push_back({&one, {}});
        else if (one.key.empty())
            ++groups[place->second].nameless;
        else
            groups[place->second].others.push_back(one.key);
    }
    return groups;
}

/// What to write for all keys of a group of which each message says what to write for one.
std::string all_at_once(finding_group const& group) {
    std::string const statement = addition_of(missing_kind(*group.first));
    bool const can_add = group.first->message.find("write  _ -> ") != std::string::npos;
    return can_add && !statement.empty() ? "; for all at once  " + statement : "";
}

/// `3 errors, 1 warning`.
std::string counts_text(check_report const& report) {
    std::size_t const errors = report.count("error"), warnings = report.count("warning");
    if (report.is_refused())
        return bold(counted(warnings, "warning")) + (warnings == 1 ? ", which is" : ", which are") +
               " refused (--strict-warnings)";
    return (errors > 0 ? bold(counted(errors, "error")) : std::string("ok")) +
           (warnings > 0 ? ", " + counted(warnings, "warning") : "");
}

std::string shown_text(finding_group const& group) {
    std::string text = group.first->text;
    if (!group.others.empty())
        text += "\n  the same for " + listed(group.others) + all_at_once(group);
    if (group.nameless > 0)
        text += "\n  the same " + counted(group.nameless, "more time");
    return text;
}

/// A note behind `note: `, as on standard error, where all notes go.
std::string without_kind(std::string text) {
    constexpr std::string_view kind = "note: ";
    if (std::size_t const place = text.find(kind); place != text.npos)
        text.erase(place, kind.size());
    return text;
}

std::string text_of(check_report const& report) {
    std::string text;
    for (finding_group const& group : groups_of(report.findings)) {
        if (group.first->severity == "note")
            note(without_kind(shown_text(group)));
        else
            text += shown_text(group) + "\n";
    }
    for (auto const& [what, keys] :
         {std::pair{"identity", &report.keys.identity}, std::pair{"renamed", &report.keys.renamed},
          std::pair{"transformed", &report.keys.transformed},
          std::pair{"added", &report.keys.added}, std::pair{"removed", &report.keys.removed}})
        if (!keys->empty())
            text += std::string(what) + ": " + grouped(static_cast<index_t>(keys->size())) + ": " +
                    listed(*keys) + "\n";
    text += report.made.empty() ? "" : tensor_table(report.made, false);
    text += report.why_not.empty() ? "invertible\n" : "not invertible: " + report.why_not + "\n";
    return text + counts_text(report) + "\n";
}

void write_page(std::string const& path, check_report const& report, job_files const& files) {
    std::vector<std::string> texts;
    for (reported const& one : report.findings)
        texts.push_back(one.text);
    detail::write_whole_file(path, check_page(json_of(report), texts, files.program,
                                              detail::read_text_file(files.program)));
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
        app, chosen, "check", "Report all that is wrong with a program before any byte moves",
        "  reshard check --program fuse.aoa --source model\n"
        "  reshard check --program fuse.aoa --source model --target layout.json --json");
    add_reverse(*command, *files, add_program(*command, *files)->required());
    add_source(*command, chosen, *files);
    add_target(*command, chosen, *files);
    add_partial(*command, *files, "target");
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
