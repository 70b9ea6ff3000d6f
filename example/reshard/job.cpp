// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "job.hpp"
#include "expanded_program.hpp"
#include "findings.hpp"
#include "fused_findings.hpp"
#include "fused_names.hpp"
#include "program_text.hpp"
#include "renames.hpp"
#include "report.hpp"
#include "spec.hpp"

#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/aoa/source_names.hpp>
#include <reshard/aoa/statement_trace.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/expr/fused_outputs.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/layout/key_pattern.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/target_files.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace tool {

using namespace reshard;

namespace {

/// The keys that a target lists. A target with rules is refused, since it lists none.
reshard::vector<std::string> keys_wanted(job_files const& files) {
    if (files.target.empty())
        fail(errc::usage, "reshard: --names needs a target that lists its tensors, but no "
                          "target is given");
    detail::layout_file const wanted = read_target(files.target, files.reading.mode);
    if (detail::needs_shapes(wanted))
        fail(errc::usage, files.target,
             ": --names needs a target that lists its tensors, but this one has rules");
    reshard::vector<std::string> keys;
    for (detail::layout_row const& row : detail::table_of(wanted, catalog()).rows)
        keys.push_back(row.key);
    return keys;
}

/// Refuses source tensors that a program for one model does not name. The states of tensors that it
/// names (`w.moment1_0` of `w`) are accepted.
void check_known(job const& full_job, program_expander const& expander) {
    if (!full_job.written.keeps || !full_job.expanded.is_complete)
        return;
    job_files const& files = expander.files();
    std::set<std::string_view> named;
    aoa::program const& code = full_job.expanded.code;
    for (aoa::statement const& statement : code.statements())
        for (aoa::name const& name : code.left(statement))
            if (statement.where != aoa::text_span() && name.kind == aoa::name::kind_type::text)
                named.insert(code.text(name));
    reshard::vector<key_pattern> kept;
    for (std::string const& pattern : *full_job.written.keeps)
        kept.emplace_back(pattern);
    auto const is_known = [&](std::string_view key) {
        for (std::size_t end = key.size(); end != key.npos && end > 0;
             end = key.rfind('.', end - 1))
            if (std::string_view const name = key.substr(0, end);
                named.contains(name) || std::ranges::any_of(kept, [&](auto const& element) {
                    return element.matches(name);
                }))
                return true;
        return false;
    };
    auto const states = aoa::detail::with_conventions({}, expander.seen(), nullptr);
    auto const is_of_known = [&](std::string_view parameter, auto const&) {
        return is_known(parameter);
    };
    reshard::vector<std::string> unknown;
    for (catalog_entry const& entry : expander.seen())
        if (!is_known(entry.key) && !aoa::detail::any_parameter(entry.key, states, is_of_known))
            unknown.push_back(entry.key);
    if (!unknown.empty())
        fail(errc::unknown_key, files.program,
             ": the program is for another model, or does not name ",
             counted(unknown.size(), "tensor"), " of this one: ", listed(unknown),
             "; print it with reshard programs ",
             files.program.substr(files.program.front() == '@'),
             ", and in a copy remove or rename these tensors, or keep them with {keeps PATTERN}");
}

/// The statements of `--cast`. Notes the tensors that keep their data type although a pattern
/// matches them.
std::string casts_of(job& full_job, catalog const& source, job_files const& files) {
    auto const casts = cast_statements(files, exports_of(full_job.expanded, source, files));
    if (std::string const others = detail::and_more_keys(casts.kept.size()); !casts.kept.empty())
        full_job.notes.push_back(
            unplaced(aoa::severity::note, "cast", {},
                     "--cast: '" + casts.kept.front() + "'" + others +
                         (others.empty() ? " keeps its type" : " keep their types") +
                         ": scales and optimizer state need a pattern of their own"));
    return casts.text;
}

/// Appends casts to a program, for all its results that get another data type.
aoa::program with_casts(job& full_job, aoa::program const& written,
                        program_expander const& expander) {
    job_files const& files = expander.files();
    if (runs_backwards(files) && files.target.empty())
        return aoa::program(written); // see `cast_backwards`
    if (runs_backwards(files))
        fail(errc::usage,
             "reshard: --cast with a layout does not work with a program that is run backwards (",
             files.program, "); cast in a second conversion");
    full_job.expanded = expander.expand(written, nullptr);
    check_known(full_job, expander);
    full_job.written.keeps.reset();
    full_job.written.text += "\n" + casts_of(full_job, expander.source(), files);
    return aoa::parse(full_job.written.text, files.program);
}

/// Warns about the first `fused_qkv` or `fused_qkv_old` statement whose numbers of heads are not
/// the numbers in the source's model.
void warn_head_counts(job& full_job, aoa::program const& program, job_files const& files) {
    constexpr std::string_view counts[][3] = {
        {"num_heads", "num_q_heads", "num_attention_heads"},
        {"num_key_value_groups", "num_kv_heads", "num_key_value_heads"}};
    std::optional<model_facts> model;
    for (aoa::statement const& statement : program.statements())
        for (aoa::attribute const& attribute : program.attributes(statement))
            for (auto const& [name, count, entry] : counts) {
                auto const* const number = std::get_if<index_t>(&attribute.value);
                if (!number || (attribute.word != name && attribute.word != count))
                    continue;
                if (!model)
                    model = facts_beside(files.source);
                auto const match = model->number(entry);
                if (!match || model->has(entry, *number))
                    continue;
                full_job.notes.push_back({aoa::severity::warning,
                                          "head_count",
                                          {},
                                          detail::words(attribute.word, " is ", *number, ", but ",
                                                        entry, " in the source's config.json is ",
                                                        *match, "; the statement's number is used"),
                                          attribute.where,
                                          statement.origin});
                return;
            }
}

/// Reads the program of a job, and adds its notes.
aoa::program read_program(job& full_job, program_expander const& expander) {
    job_files const& files = expander.files();
    full_job.written = has_renames(files)
                           ? program_of_renames(files, expander.source(),
                                                files.names.empty() ? reshard::vector<std::string>()
                                                                    : keys_wanted(files))
                           : read_program_text(files, expander.seen());
    if (files.program.empty())
        return aoa::program();
    if (has_renames_beside(files))
        full_job.written.object_names = object_renames(files);
    aoa::program program = aoa::parse(full_job.written.text, files.program);
    warn_head_counts(full_job, program, files);
    return files.casts.empty() ? program : with_casts(full_job, program, expander);
}

/// The exports, and all source tensors with other keys: the possible tensors of a layout without
/// shapes.
catalog known_tensors(catalog const& exports, catalog const& source) {
    reshard::vector<catalog_entry> entries(exports.begin(), exports.end());
    for (catalog_entry const& entry : source)
        if (!exports.find(entry.key))
            entries.push_back(entry);
    return catalog(std::move(entries));
}

/// The beginning of a clause about the source of a target's tensors.
std::string_view maker_of(job_files const& files) {
    return files.program.empty() ? "the source has" : "the program yields";
}

/// Records the available keys that the layout omits.
void note_unwritten(job& full_job, reshard::vector<std::string> const& keys,
                    job_files const& files) {
    if (!keys.empty())
        full_job.unwritten = files.target + ": the layout does not ask for " +
                             counted(keys.size(), "key") + " that " + std::string(maker_of(files)) +
                             ": " + listed(keys);
}

void add_mismatch(job& full_job, aoa::severity level, detail::key_mismatch const& keys) {
    for (auto const& [code, words, list] :
         {std::tuple("unexpected", "is wanted but not available", &keys.unexpected),
          std::tuple("missing", "is available but not wanted", &keys.missing)})
        for (std::string const& key : *list)
            if (std::string const text = "'" + key + "' " + words; level == aoa::severity::error)
                add_error(full_job, errc::unknown_key, key, text);
            else
                full_job.lowered.findings.push_back(unplaced(level, code, key, text));
}

/// Applies the strictness to keys that only one side has: adds findings, and removes rows.
void judge_keys(job& full_job, detail::layout_table& table, reshard::vector<std::string> missing,
                job_files const& files) {
    full_job.verdict = detail::judge(detail::strictness_from_name(files.strict),
                                     {full_job.lowered.unexpected, std::move(missing)});
    add_mismatch(full_job, aoa::severity::error, full_job.verdict.raise);
    add_mismatch(full_job, aoa::severity::warning, full_job.verdict.log);
    add_mismatch(full_job, aoa::severity::note, full_job.verdict.give_back);
    erase_if(table.rows, [&](detail::layout_row const& row) {
        return std::ranges::binary_search(full_job.verdict.left_out, row.key);
    });
}

reshard::vector<std::string> keys_beyond(catalog const& exports, catalog const& target) {
    reshard::vector<std::string> keys;
    for (catalog_entry const& entry : exports)
        if (!target.find(entry.key))
            keys.push_back(entry.key);
    return keys;
}

/// The layout file as a table. If it has rules, they are applied to all tensors that the program
/// yields.
///
/// \throws error for rules about an unreadable tensor, whose shape may be unknown
detail::layout_table read_table(job& full_job, aoa::program const& written,
                                program_expander const& expander, layout const& layout) {
    job_files const& files = expander.files();
    detail::layout_file const wanted = read_target(files.target, files.reading.mode);
    catalog const nothing;
    full_job.lists_keys = !detail::needs_shapes(wanted);
    if (full_job.lists_keys)
        return detail::table_of(wanted, nothing);
    aoa::expansion const expanded = expander.expand(written, nullptr);
    if (!layout.unread.empty() && expanded.is_complete)
        detail::check_readable(
            aoa::lower_all(expanded.code, expander.source(), nullptr, files.lowering).map, layout,
            nullptr);
    return detail::table_of(wanted, exports_of(expanded, expander.source(), files));
}

/// The reason why a quantised tensor needs all of its scales; empty if its input channels are in
/// the order of their groups.
std::string_view order_text(std::string_view key, layout const& layout) {
    bool const has_groups = key.ends_with(".qweight") || key.ends_with("_packed");
    return layout.quantised.is_reordered && has_groups
               ? "; its input channels are not in the order of their groups (desc_act, g_idx)"
               : "";
}

/// Sets the layout of the program's results from the target's table, and adds its errors.
void complete_target(job& full_job, detail::layout_table const& table, layout const& layout,
                     catalog const& source, job_files const& files) {
    detail::completed_layout completed =
        detail::target_layout(table, catalog_of(full_job.map()), maker_of(files));
    full_job.target = std::move(completed.target);
    for (std::string const& text : completed.notes) // each note begins with the file
        full_job.notes.push_back(
            unplaced(aoa::severity::note, "layout", {},
                     text.substr(std::min(text.size(), table.file.size() + 2))));
    check_fused(full_job, layout, source, files);
    check_scale_sources(full_job, layout, files);
    for (detail::scales_apart const& apart :
         detail::find_scales_apart(full_job.map(), *full_job.target))
        add_error(full_job, errc::bad_layout, apart.key,
                  apart.message + std::string(order_text(apart.key, layout)));
}

/// Turns the finding that a macro interleaves for parts other than the ranks' parts into an error.
/// Such a program is not checked further.
void refuse_scattered(aoa::expansion& expanded, job_files const& files) {
    for (aoa::finding& finding : expanded.findings)
        if (finding.code == "fused_scattered" && !files.cut_fused) {
            finding.level = aoa::severity::error;
            expanded.first_error = errc::bad_layout;
            expanded.is_complete = false;
        }
}

job make_job_with_target(layout const& layout, catalog const& source, job_files const& files) {
    job full_job;
    program_expander const expander(source, files);
    aoa::program const written = read_program(full_job, expander);
    detail::layout_table table = read_table(full_job, written, expander, layout);
    full_job.expanded = expander.expand(written, &table);
    check_known(full_job, expander);
    refuse_scattered(full_job.expanded, files);
    if (!full_job.expanded.is_complete)
        return full_job;
    catalog const exports = exports_of(full_job.expanded, source, files);
    full_job.wanted = catalog_of(table, known_tensors(exports, source));
    bool const judges =
        !files.strict.empty() && files.strict != name(strictness::assume_ok_unexpected);
    aoa::lower_options options = files.lowering;
    options.leave_unexpected = judges;
    full_job.lowered = aoa::lower_all(full_job.code(), source, &*full_job.wanted, options);
    auto missing = keys_beyond(exports, *full_job.wanted);
    if (judges)
        judge_keys(full_job, table, std::move(missing), files);
    else if (files.strict.empty())
        note_unwritten(full_job, missing, files);
    if (!full_job.first_error())
        complete_target(full_job, table, layout, source, files);
    return full_job;
}

/// The other tensors that are missing like the first error's tensor, and the number of remaining
/// errors.
std::string others_of(reshard::vector<aoa::finding> const& findings) {
    auto const missing = aoa::detail::equally_missing(findings);
    auto const count = std::ranges::count(findings, aoa::severity::error, &aoa::finding::level) -
                       1 - std::ssize(missing);
    std::string text = missing.empty() ? "" : "\n  " + aoa::detail::same_for(missing);
    if (count > 0)
        text += "\n(and " + std::to_string(count) + " more; reshard check shows all)";
    return text;
}

/// Throws the first error of a job. \pre there is one
[[noreturn]] void fail_first(job const& full_job, errc code, job_files const& files) {
    auto const findings = full_job.findings();
    aoa::finding const& first = *aoa::first_error_of(findings);
    bool const is_judged = !is_placed(first) && first.code == name(errc::unknown_key) &&
                           !full_job.verdict.raise.empty();
    if (is_judged)
        fail(code, files.target + ": " + detail::describe(full_job.verdict.raise));
    fail(code, report_of(full_job.code(), first, files).text + others_of(findings));
}

} // namespace

reshard::vector<aoa::finding> job::findings() const {
    reshard::vector<aoa::finding> findings = expanded.findings;
    findings.insert(findings.end(), lowered.findings.begin(), lowered.findings.end());
    findings.insert(findings.end(), notes.begin(), notes.end());
    return findings;
}

namespace {

/// Adds casts to a reversed program.
void cast_backwards(job& full_job, catalog const& source, job_files const& files) {
    std::string const casts = casts_of(full_job, source, files);
    std::string text;
    for (std::string const& line : aoa::print_lines(
             full_job.code(), [&](std::string_view key) { return source.find(key) != nullptr; }))
        text += line + "\n";
    auto findings = std::move(full_job.expanded.findings);
    full_job.expanded =
        aoa::expand_all(aoa::parse(text + casts, files.program), source, nullptr, files.expanding);
    full_job.expanded.findings.insert(full_job.expanded.findings.begin(), findings.begin(),
                                      findings.end());
    full_job.written.text += "\n# and then:\n" + casts;
}

/// Names that the target drops: aliases that no statement makes, of tensors for which a statement
/// makes another name. Only for programs that run backwards without a list of target tensors.
reshard::vector<std::string> names_not_made(catalog const& source, job_files const& files) {
    if (files.aliases.empty() || !runs_backwards(files) ||
        (!files.target.empty() &&
         !detail::needs_shapes(read_target(files.target, files.reading.mode))))
        return {};
    std::set<std::string_view> results;
    aoa::expand_options telling = files.expanding;
    telling.no_match = aoa::on_no_match::ignore;
    telling.reverse = true;
    aoa::expansion const expansion = aoa::expand_all(
        aoa::parse(read_program_text(files, source).text, files.program), source, nullptr, telling);
    for (aoa::statement const& statement : expansion.code.statements())
        for (aoa::name const& name : expansion.code.right(statement))
            if (name.kind == aoa::name::kind_type::text)
                results.insert(expansion.code.text(name));
    std::set<std::string> keys; // tensors with a name that a statement makes
    reshard::vector<std::string> names;
    for (auto const& [alias, key] : files.aliases)
        for (std::string const& name : {alias, key})
            if (results.contains(name))
                keys.insert(key);
    for (auto const& [alias, key] : files.aliases)
        for (std::string const& name : {alias, key})
            if (keys.contains(key) && !results.contains(name) && !std::ranges::count(names, name))
                names.push_back(name);
    return names;
}

/// A layout without the tensors of these names.
layout without(layout layout, reshard::vector<std::string> const& names) {
    erase_if(layout.tensors, [&](tensor_layout const& tensor) {
        return std::ranges::count(names, tensor.key) > 0;
    });
    return layout;
}

/// Refuses a tensor that a reversed program adds if its shape is unknown.
void refuse_unmade(job& full_job, job_files const& files) {
    for (aoa::statement const& statement : full_job.code().statements())
        if (runs_backwards(files) && aoa::is_addition(full_job.code(), statement))
            if (std::string const key(full_job.code().text(full_job.code().right(statement)[0]));
                !full_job.map().find(key))
                add_error(full_job, errc::not_invertible, key,
                          "'" + key +
                              "' would be filled with zeros, but --like does not give its shape");
}

job make_job_without_target(layout const& source, catalog const& from, job_files const& files) {
    if (!files.strict.empty())
        fail(errc::usage, "reshard: --strict compares the keys of a target, but no target is "
                          "given");
    job full_job;
    program_expander const expander(from, files);
    full_job.expanded = expander.expand(read_program(full_job, expander), nullptr);
    check_known(full_job, expander);
    if (!files.casts.empty() && runs_backwards(files) && full_job.expanded.is_complete)
        cast_backwards(full_job, from, files);
    refuse_scattered(full_job.expanded, files);
    if (full_job.expanded.is_complete)
        full_job.lowered = lower_exports(full_job.code(), from, files);
    if (full_job.expanded.is_complete && !full_job.first_error())
        refuse_unmade(full_job, files);
    if (full_job.expanded.is_complete && !full_job.first_error()) {
        check_fused(full_job, source, from, files);
        check_scale_sources(full_job, source, files);
    }
    return full_job;
}

} // namespace

job make_job(layout const& source, job_files const& files) {
    auto const dropped = names_not_made(catalog_of(source), files);
    layout const less = dropped.empty() ? layout() : without(source, dropped);
    layout const& layout = dropped.empty() ? source : less;
    catalog const from = catalog_of(layout);
    job full_job = files.target.empty() ? make_job_without_target(layout, from, files)
                                        : make_job_with_target(layout, from, files);
    for (std::string const& key : dropped)
        full_job.notes.push_back(
            unplaced(aoa::severity::note, "alias_dropped", key,
                     "'" + key +
                         "' is dropped: it is another name of a tensor, and the program makes "
                         "that tensor only under other names"));
    if (full_job.expanded.is_complete && !full_job.first_error())
        for (detail::unread_use const& use : detail::find_unread(
                 full_job.map(), layout, full_job.target ? &*full_job.target : nullptr))
            add_error(full_job, errc::unsupported, use.key, use.message);
    if (files.program.empty() || has_renames(files))
        add_hints_of_names(full_job.lowered.findings, from);
    if (!full_job.written.note.empty())
        full_job.notes.push_back(
            unplaced(aoa::severity::note, program_values_code, {}, full_job.written.note));
    return full_job;
}

void check_cover(job const& full_job, job_files const& files) {
    if (!full_job.target || files.partial)
        return;
    try {
        detail::check_complete(*full_job.target);
    } catch (error const& problem) {
        fail(problem.code(), files.target + ": " + problem.what() + " (--partial)");
    }
}

job make_sound_job(layout const& source, job_files const& files) {
    job full_job = make_job(source, files);
    if (auto const code = full_job.first_error())
        fail_first(full_job, *code, files);
    check_cover(full_job, files);
    return full_job;
}

namespace {

job_files with_objects(job_files files, source_spec const& source) {
    if (source.checkpoint) {
        files.objects = object_keys(*source.checkpoint);
        files.aliases = source.checkpoint->aliases;
    }
    return files;
}

} // namespace

job make_job(source_spec const& source, job_files const& files) {
    return make_job(source.held, with_objects(files, source));
}

job make_sound_job(source_spec const& source, job_files const& files) {
    return make_sound_job(source.held, with_objects(files, source));
}

reshard::vector<std::string> statement_lines(aoa::program const& code, layout const& source) {
    return aoa::print_lines(code,
                            [&](std::string_view key) { return source.find(key) != nullptr; });
}

} // namespace tool
