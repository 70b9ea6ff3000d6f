// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "findings.hpp"
#include "program_text.hpp"
#include "renames.hpp"
#include "report.hpp"
#include "summary.hpp"

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/expr/losses.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

namespace tool {

using namespace reshard;

namespace {

/// The file with the cause of a finding.
std::string const& file_of(aoa::finding const& finding, job_files const& files) {
    bool const is_about_source = finding.code == "unused" || finding.code == "rounded" ||
                                 finding.code == "left_state" || finding.code == "renamed_away" ||
                                 finding.code == "alias_dropped";
    return is_placed(finding) || finding.code == program_values_code ? files.program
           : is_about_source || files.target.empty()                 ? files.source
                                                                     : files.target;
}

/// The key pattern of an error about a missing key, or a key that is separated from its scales. The
/// same keys of other layers have the same pattern. Empty for other findings.
std::string missing_kind(reported const& report) {
    bool const is_of_layout =
        report.code == name(errc::unknown_key) || report.code == name(errc::bad_layout);
    bool const is_missing = report.severity == "error" && !report.where && is_of_layout;
    return is_missing ? without_numbers(report.key) : "";
}

/// Whether a finding is shown by itself, and not in a group.
bool is_alone(reported const& report) {
    if (report.where)
        return false;
    return report.severity == "error" ? missing_kind(report).empty() : report.key.empty();
}

/// The statement that adds all keys of a pattern as zeros; empty if one statement cannot.
std::string addition_of(std::string const& kind) {
    std::size_t const star = kind.find('*');
    bool const is_plain =
        std::ranges::all_of(kind, [](char c) { return c == '*' || aoa::is_plain_char(c); });
    if (star == kind.npos || kind.rfind('*') != star || !is_plain)
        return {};
    return "_ -> " + kind.substr(0, star) + "$LAYER_ID" + kind.substr(star + 1);
}

/// The statement for all keys of a group, if each message proposes a statement for one key.
std::string all_at_once(finding_group const& group) {
    std::string const statement = addition_of(missing_kind(*group.first));
    bool const can_add = group.first->message.find("write  _ -> ") != std::string::npos;
    return can_add && !statement.empty() ? "; to add all at once, write  " + statement : "";
}

/// Notes the source tensors that no target tensor uses, or uses only in part.
void note_losses(job const& full_job, job_files const& files) {
    reshard::vector<std::string> unused, others;
    std::string first;
    for (detail::loss const& loss : detail::losses_of(full_job.map())) {
        detail::mapping_source const source = full_job.map().sources()[loss.source];
        if (loss.type != detail::loss::kind::unused)
            continue;
        if (loss.boxes[0] == whole(source.shape))
            unused.push_back(loss.key);
        else if (first.empty())
            first = "'" + loss.key + "' " + detail::describe(loss, source);
        else
            others.push_back(loss.key);
    }
    if (!unused.empty())
        note(files.source + ": nothing uses " + counted(unused.size(), "key") + ": " +
             listed(unused));
    if (!first.empty())
        note(files.source + ": " + first +
             (others.empty() ? ""
                             : "; the same holds for " + counted(others.size(), "more key") + ": " +
                                   listed(others)));
}

void note_zeros(job const& full_job) {
    reshard::vector<std::string> zeros;
    for (mapping_output const& output : full_job.map().outputs())
        if (output.added)
            zeros.push_back(output.key);
    if (!zeros.empty())
        note(counted(zeros.size(), "key") +
             " without a source, filled with zeros: " + listed(zeros));
}

/// The source tensor that an output copies completely, in any order of axes and as any data type.
/// Empty for other outputs.
std::string_view key_of_copy(mapping_output const& output, mapping const& program) {
    expression const& value = output.value;
    if (output.added || value.pieces.size() != 1 || value.pieces.source(0) == detail::zero_source)
        return {};
    detail::key_id const id = value.pieces.source(0);
    bool const is_whole =
        element_count(value.shape) == element_count(program.sources()[id].shape) &&
        element_count(value.pieces[0].target_box()) == element_count(value.shape);
    return is_whole ? program.sources().key(id) : std::string_view();
}

} // namespace

reported report_of(aoa::program const& code, aoa::finding const& finding, job_files const& files) {
    reported result{std::string(detail::name_of(finding.level)),
                    finding.code,
                    finding.key,
                    finding.message,
                    file_of(finding, files),
                    std::nullopt,
                    aoa::macro_chain(code, finding.origin),
                    {},
                    {}};
    if (is_placed(finding)) {
        result.where = code.place_at(finding.where.first);
        result.text = aoa::describe(code, finding);
        result.plain = aoa::describe_as(code, finding, {});
        return result;
    }
    bool const is_error = finding.level == aoa::severity::error;
    result.plain = result.file + ": " + finding.message;
    result.text = is_error ? result.plain
                           : result.file + ": " + aoa::kind_of(finding) + ": " + finding.message;
    return result;
}

/// `file:line:column: kind: message`, then lines that show the position, then lines with the chain
/// of macros. Everything after the file is optional.
aoa::finding unplaced(aoa::severity level, std::string_view code, std::string key,
                      std::string message) {
    return {level, std::string(code), std::move(key), std::move(message), {}, 0};
}

void add_error(job& full_job, errc code, std::string key, std::string message) {
    full_job.lowered.findings.push_back(
        unplaced(aoa::severity::error, name(code), std::move(key), std::move(message)));
    if (!full_job.lowered.first_error)
        full_job.lowered.first_error = code;
}

reported report_of(error const& problem, std::string const& file) {
    std::string const text = problem.what();
    std::istringstream lines(text);
    std::string message, line;
    std::getline(lines, message);
    message = message.substr(std::min(message.size(), file.size() + 1));
    reported result{"error", std::string(name(problem.code())), {}, {}, file, {}, {}, text, text};
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

reshard::vector<reported> reports_of(aoa::program const& code,
                                     reshard::vector<aoa::finding> const& findings,
                                     job_files const& files) {
    reshard::vector<reported> reports;
    for (aoa::finding const& finding : findings)
        reports.push_back(report_of(code, finding, files));
    return reports;
}

std::size_t count_of(std::string_view severity, reshard::vector<reported> const& reports) {
    return static_cast<std::size_t>(std::ranges::count(reports, severity, &reported::severity));
}

reshard::vector<finding_group> groups_of(reshard::vector<reported> const& reports) {
    reshard::vector<finding_group> groups;
    std::map<std::tuple<std::string, std::string, std::size_t, std::size_t, std::string>,
             std::size_t>
        places;
    for (reported const& report : reports) {
        auto const where = report.where.value_or(aoa::place{0, 0});
        auto const [position, is_new] =
            places.emplace(std::tuple(report.severity, report.code, where.line, where.column,
                                      missing_kind(report)),
                           groups.size());
        if (is_new || is_alone(report))
            groups.push_back({&report});
        else if (report.key.empty())
            ++groups[position->second].nameless;
        else
            groups[position->second].others.push_back(report.key);
    }
    return groups;
}

std::string same_text(finding_group const& group) {
    std::string text;
    if (!group.others.empty())
        text += "\n  the same for " + listed(group.others) + all_at_once(group);
    if (group.nameless > 0)
        text += "\n  the same " + counted(group.nameless, "more time");
    return text;
}

void say_findings(reshard::vector<reported> const& reports) {
    for (finding_group const& group : groups_of(reports))
        say(group.first->severity, group.first->plain + same_text(group));
}

void note_renamed_away(job& full_job, catalog const& source, job_files const& files) {
    bool const is_own = !files.program.empty() && !files.program.starts_with('@');
    if (!is_own || has_renames(files) || runs_backwards(files) || full_job.lists_keys ||
        full_job.first_error())
        return;
    std::set<std::string_view> renamed, gone;
    for (mapping_output const& output : full_job.map().outputs())
        if (auto const key = key_of_copy(output, full_job.map()); !key.empty())
            renamed.insert(key);
    for (aoa::statement const& statement : full_job.code().statements())
        for (aoa::name const& name : full_job.code().left(statement))
            if (statement.where != aoa::text_span() && // else the statement comes from --rename
                name.kind == aoa::name::kind_type::text)
                gone.insert(full_job.code().text(name));
    erase_if(gone, [&](std::string_view key) {
        return !renamed.contains(key) || !source.find(key) || full_job.map().find(key);
    });
    if (gone.empty())
        return;
    std::string const key(*gone.begin()), name = aoa::detail::quoted_name(key);
    std::string const others = gone.size() == 1
                                   ? ""
                                   : "; so " + std::string(gone.size() == 2 ? "is " : "are ") +
                                         counted(gone.size() - 1, "more name");
    full_job.notes.push_back(
        {aoa::severity::note,
         "renamed_away",
         key,
         "'" + key +
             "' is renamed away: the program reads it, but makes no tensor of that name; to "
             "keep it, add after the last statement that reads it:  " +
             name + " -> " + name + others,
         {},
         0});
}

void say_notes(job const& full_job, job_files const& files) {
    say_findings(reports_of(full_job.code(), full_job.findings(), files));
    if (!full_job.unwritten.empty())
        note(full_job.unwritten);
    note_zeros(full_job);
    note_losses(full_job, files);
}

std::size_t count_warnings(job const& full_job) {
    return static_cast<std::size_t>(
        std::ranges::count(full_job.findings(), aoa::severity::warning, &aoa::finding::level));
}

void refuse_warnings(std::size_t warnings, job_files const& files) {
    if (warnings > 0 && files.strict_warnings)
        fail(errc::unsupported, files.program.empty() ? files.source : files.program, ": ",
             counted(warnings, "warning"), warnings == 1 ? " is" : " are",
             " refused (--strict-warnings)");
}

} // namespace tool
