// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "job.hpp"

#include "analysis.hpp"
#include "report.hpp"
#include "spec.hpp"

#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/storage/target_files.hpp>

#include <algorithm>

namespace tool {

using namespace reshard;

namespace {

aoa::program read_program(std::string const& path) {
    return path.empty() ? aoa::program() : aoa::parse(read_text_file(path), path);
}

/// What a program leaves over where no target says what is wanted.
catalog exports_of(aoa::program const& code, catalog const& source) {
    return catalog_of(aoa::lower(code, source));
}

/// The tensors of a layout file; data types that it leaves open are those of `known`, or F32.
catalog catalog_of(layout_table const& table, catalog const& known) {
    std::vector<catalog_entry> entries;
    for (layout_row const& row : table.rows) {
        catalog_entry const* const yielded = known.find(row.key);
        data_type const dtype = row.dtype.value_or(yielded ? yielded->dtype : data_type::f32);
        entries.push_back(entry_of({row.key, dtype, row.shape, row.shards}));
    }
    return catalog(std::move(entries));
}

/// The exports, and the source's tensors below them: what a key may be when the layout does not say.
catalog known_tensors(catalog const& exports, catalog const& source) {
    std::vector<catalog_entry> entries(exports.begin(), exports.end());
    for (catalog_entry const& entry : source)
        if (!exports.find(entry.key))
            entries.push_back(entry);
    return catalog(std::move(entries));
}

void add_findings(job& all, std::vector<aoa::finding> findings) {
    all.findings.insert(all.findings.end(), findings.begin(), findings.end());
}

void lower_into(job& all, catalog const& source, catalog const* target) {
    aoa::lowering lowered = aoa::lower_all(all.code, source, target);
    add_findings(all, std::move(lowered.findings));
    all.first_error = lowered.first_error;
    all.map = std::move(lowered.map);
}

void expand_into(job& all, aoa::program const& written, catalog const& source,
                 catalog const* target) {
    aoa::expansion expanded = aoa::expand(written, source, target);
    all.code = std::move(expanded.code);
    add_findings(all, std::move(expanded.findings));
}

/// Says which keys the program yields that the layout does not ask for.
void note_unwritten(job& all, catalog const& exports, job_files const& files) {
    std::vector<std::string> keys;
    for (catalog_entry const& entry : exports)
        if (!all.target->find(entry.key))
            keys.push_back(entry.key);
    if (!keys.empty())
        all.notes.push_back(files.target + ": the layout does not ask for " +
                            counted(keys.size(), "key") +
                            " that the program yields: " + listed(keys));
}

void check_target(layout const& target, job_files const& files) {
    try {
        check_complete(target);
    } catch (error const& problem) {
        fail(problem.code(), files.target + ": " + problem.what() + " (--partial)");
    }
}

job make_job_with_target(catalog const& source, job_files const& files) {
    job all;
    aoa::program const written = read_program(files.program);
    layout_file const wanted = read_target(files.target);
    bool const has_rules = needs_shapes(wanted);
    catalog const nothing;
    layout_table const table = table_of(
        wanted, has_rules ? exports_of(aoa::expand(written, source).code, source) : nothing);
    catalog const shapes = catalog_of(table, nothing);
    expand_into(all, written, source, &shapes);
    catalog const exports = catalog_of(aoa::lower_all(all.code, source).map);
    catalog const target = catalog_of(table, known_tensors(exports, source));
    for (catalog_entry const& entry : target)
        all.target_dtypes.emplace(entry.key, entry.dtype);
    lower_into(all, source, &target);
    if (all.first_error)
        return all;
    completed_layout completed = target_layout(table, catalog_of(all.map));
    all.target = std::move(completed.target);
    all.notes = std::move(completed.notes);
    note_unwritten(all, exports, files);
    if (!files.partial)
        check_target(*all.target, files);
    return all;
}

/// Says which tensors of the source are used in part only.
void note_unread_parts(job const& all, job_files const& files) {
    std::vector<loss> const parts = unread_parts(all.map);
    if (parts.empty())
        return;
    std::vector<std::string> others;
    for (std::size_t i = 1; i < parts.size(); ++i)
        others.push_back(parts[i].key);
    note(files.source + ": '" + parts[0].key + "' " + parts[0].text +
         (others.empty() ? ""
                         : "; the same holds for " + counted(others.size(), "more key") + ": " +
                               listed(others)));
}

} // namespace

job make_job(layout const& source, job_files const& files) {
    catalog const from = catalog_of(source);
    if (!files.target.empty())
        return make_job_with_target(from, files);
    job all;
    expand_into(all, read_program(files.program), from, nullptr);
    lower_into(all, from, nullptr);
    return all;
}

job make_sound_job(layout const& source, job_files const& files) {
    job all = make_job(source, files);
    if (all.first_error)
        for (aoa::finding const& one : all.findings)
            if (one.level == aoa::severity::error)
                fail(*all.first_error, text_of(all, one, files));
    return all;
}

std::vector<std::string> statement_lines(aoa::program const& code, layout const& source) {
    return aoa::print_lines(code,
                            [&](std::string_view key) { return source.find(key) != nullptr; });
}

std::string text_of(job const& all, aoa::finding const& one, job_files const& files) {
    if (one.where.last > one.where.first)
        return aoa::describe(all.code, one);
    std::string const text = files.target + ": " + one.message;
    if (one.code != name(errc::dtype_mismatch) || !all.target_dtypes.contains(one.key))
        return text;
    // No statement makes it, so there is none in which to write the cast.
    return text.substr(0, text.find("; write")) + "; to cast it, add the statement  " + one.key +
           " -> " + one.key + ", dtype=\"" + std::string(name(all.target_dtypes.at(one.key))) +
           "\"";
}

void print_notes(job const& all, layout const& source, job_files const& files) {
    for (aoa::finding const& one : all.findings)
        note(text_of(all, one, files));
    for (std::string const& text : all.notes)
        note(text);
    std::vector<bool> is_used(all.map.sources().size(), false);
    std::vector<std::string> zeros, unused;
    for (mapping_output const& output : all.map.outputs()) {
        if (output.added)
            zeros.push_back(output.key);
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i)
            if (key_id const id = output.value.pieces.source(i); id != zero_source)
                is_used[id] = true;
    }
    auto const& removed = all.map.removed();
    for (std::size_t id = 0; id < is_used.size(); ++id)
        if (std::string const& key = all.map.sources()[id].key;
            !is_used[id] && std::find(removed.begin(), removed.end(), key) == removed.end() &&
            element_count(source.find(key)->shape) > 0)
            unused.push_back(key);
    if (!zeros.empty())
        note(counted(zeros.size(), "key") + " without a source: zeros in a file: " + listed(zeros));
    if (!unused.empty())
        note(files.source + ": nothing uses " + counted(unused.size(), "key") + ": " +
             listed(unused));
    note_unread_parts(all, files);
}

} // namespace tool
