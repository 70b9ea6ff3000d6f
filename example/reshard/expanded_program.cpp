// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "expanded_program.hpp"
#include "backwards.hpp"
#include "like.hpp"
#include "program_text.hpp"
#include "renames.hpp"

#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/make_finding.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/storage/target_files.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <utility>

namespace tool {

using namespace reshard;

namespace {

/// The tensors that a layout file lists, with all details that it gives.
reshard::vector<aoa::known_tensor> known_rows(detail::layout_table const& table) {
    reshard::vector<aoa::known_tensor> tensors;
    for (detail::layout_row const& row : table.rows)
        tensors.push_back(
            {detail::entry_of(row.key, row.dtype.value_or(data_type::f32), {row.shape, row.shards}),
             row.dtype.has_value()});
    return tensors;
}

/// The renames that apply to tensors; `object_renames` has the other values' renames.
reshard::vector<rename_pair> tensor_renames(rename_rules const& rules, catalog const& tensors,
                                            reshard::vector<aoa::state_suffix> const& states,
                                            job_files const& files) {
    reshard::vector<rename_pair> renames = rules.pairs(
        keys_of(tensors, files), states, files.reverse ? "the program's results" : "the source");
    key_set const objects(files.objects.begin(), files.objects.end());
    erase_if(renames, [&](rename_pair const& pair) {
        return objects.contains(pair.first) && !tensors.find(pair.first);
    });
    return renames;
}

/// Adds statements for the renames, before or after the statements of a program.
void add_renames(aoa::program& code, reshard::vector<rename_pair> const& renames, bool is_before) {
    reshard::vector<aoa::statement> statements;
    for (auto const& [from, to] : renames) {
        aoa::name const left[] = {code.make_text(from)}, right[] = {code.make_text(to)};
        aoa::statement like;
        like.origin = code.make_origin({});
        statements.push_back(code.make_statement(left, right, like));
    }
    reshard::vector<aoa::statement> all_statements = code.statements();
    all_statements.insert(is_before ? all_statements.begin() : all_statements.end(),
                          statements.begin(), statements.end());
    code.replace_statements(std::move(all_statements));
}

/// Adds the states that follow the renames to the states that a program knows.
void add_states(aoa::program& code, reshard::vector<aoa::state_suffix> const& added) {
    auto states = code.state_suffixes();
    std::ranges::copy_if(added, std::back_inserter(states), [&](aoa::state_suffix const& state) {
        return std::ranges::find(code.state_suffixes(), state) == code.state_suffixes().end();
    });
    code.set_state_suffixes(std::move(states));
}

/// The tensors of a source under their new names, with unchanged cuts. Their states are renamed,
/// too.
catalog renamed(catalog const& source, reshard::vector<rename_pair> const& renames,
                reshard::vector<aoa::state_suffix> const& states, job_files const& files) {
    aoa::program code;
    code.set_state_suffixes(states);
    add_renames(code, renames, true);
    mapping const map = aoa::lower(code, source, nullptr, files.lowering);
    catalog const new_catalog = catalog_of(map);
    reshard::vector<catalog_entry> entries(new_catalog.begin(), new_catalog.end());
    detail::quantisation_facts quantised = source.quantised;
    quantised.decoded.clear();
    for (catalog_entry& entry : entries)
        if (auto const* const output = map.find(entry.key);
            output && detail::is_source_box(output->value)) {
            catalog_entry const& old = source[output->value.pieces.source(0)];
            entry.parts = old.parts;
            auto const& decoded = source.quantised.decoded;
            if (auto const match = detail::find_tensor(decoded, old.key); match != decoded.end())
                quantised.decoded.push_back({entry.key, match->scheme});
        }
    std::ranges::sort(quantised.decoded, {}, &detail::decoded_entry::key);
    catalog tensors(std::move(entries));
    tensors.quantised = std::move(quantised);
    return tensors;
}

/// The error for a statement that reads a tensor by its name from before `--rename`.
aoa::finding old_name(aoa::program const& code, aoa::statement const& statement,
                      aoa::name const& name, reshard::vector<rename_pair> const& renames) {
    std::string const key(code.text(name));
    auto const pair = std::ranges::find(renames, key, &rename_pair::first);
    return aoa::detail::make_finding(
        code, statement,
        {errc::unknown_key,
         detail::words("'", key, "' is renamed by --rename before the program runs; write ",
                       pair != renames.end() ? "'" + pair->second + "'" : "its new name"),
         name.where, key});
}

/// Adds an error for each source tensor that a program reads by its old name.
void refuse_old_names(aoa::expansion& expanded, catalog const& source, catalog const& catalog,
                      reshard::vector<rename_pair> const& renames) {
    aoa::program const& code = expanded.code;
    key_set set; // names that the program has made, or that have an error
    for (aoa::statement const& statement : code.statements()) {
        for (aoa::name const& name : code.left(statement)) {
            std::string const key(code.text(name));
            if (name.kind != aoa::name::kind_type::text || !source.find(key) || catalog.find(key) ||
                !set.insert(key).second)
                continue;
            expanded.findings.push_back(old_name(code, statement, name, renames));
            if (!expanded.first_error)
                expanded.first_error = errc::unknown_key;
        }
        for (aoa::name const& name : code.right(statement))
            set.emplace(code.text(name));
    }
}

/// The extents in a text such as `4, 6`; std::nullopt if it is not a list.
std::optional<index_vector> extents_in(std::string_view text) {
    index_vector shape;
    while (!text.empty()) {
        index_t extent = 0;
        auto const read = std::from_chars(text.data(), text.data() + text.size(), extent);
        text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
        bool const goes_on = text.starts_with(", ") && text.size() > 2;
        if (read.ec != std::errc() || extent < 0 || !(text.empty() || goes_on))
            return std::nullopt;
        text.remove_prefix(goes_on ? 2 : 0);
        shape.push_back(extent);
    }
    return shape;
}

/// Adds the tensors of lines `#! shape KEY [4, 6] as OTHER`: a tensor that the program reads, its
/// shape, and a tensor of the program's result with the same data type, and the same shape if the
/// line has none.
void add_stated_shapes(reshard::vector<aoa::known_tensor>& tensors, std::string_view text,
                       catalog const& results, std::string const& program) {
    key_set keys;
    for (aoa::known_tensor const& tensor : tensors)
        keys.emplace(tensor.entry.key);
    constexpr std::string_view begin = "#! shape ", as = " as ";
    for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at)) {
        at += begin.size();
        std::string_view const line = text.substr(at, text.find('\n', at) - at);
        std::size_t const end = line.find(as), bracket = std::min(line.find(" ["), end);
        bool const has_shape = bracket != end;
        auto const shape = extents_in(has_shape ? line.substr(bracket + 2, end - bracket - 3)
                                                : std::string_view());
        std::string key(line.substr(0, bracket));
        if (end == line.npos || !shape || (has_shape && line[end - 1] != ']') ||
            key.find(' ') != key.npos)
            fail(errc::syntax, program, ": '#! shape ", line,
                 "' is not '#! shape KEY [4, 6] as OTHER'");
        catalog_entry const* const other = results.find(line.substr(end + as.size()));
        if (!other || !keys.emplace(key).second)
            continue;
        index_vector const& extents = has_shape ? *shape : other->shape;
        auto const parts = index_vector::filled(extents.size(), 1);
        tensors.push_back({{std::move(key), other->dtype, extents, parts}, true, false});
    }
}

} // namespace

aoa::lowering lower_exports(aoa::program const& code, catalog const& source,
                            job_files const& files) {
    aoa::lowering lowered = aoa::lower_all(code, source, nullptr, files.lowering);
    if (files.like.empty())
        return lowered;
    key_set added;
    for (aoa::statement const& statement : code.statements())
        if (aoa::is_addition(code, statement))
            added.emplace(code.text(code.right(statement)[0]));
    for (aoa::known_tensor const& tensor : tensors_like(files.like))
        if (added.contains(tensor.entry.key) && !lowered.map.find(tensor.entry.key))
            lowered.map.add(tensor.entry.key, tensor.entry.shape, tensor.entry.dtype);
    erase_if(lowered.findings, [&](aoa::finding const& finding) { // its shape is known now
        return finding.code == "no_effect" && added.contains(finding.key) &&
               lowered.map.find(finding.key);
    });
    return lowered;
}

catalog exports_of(aoa::expansion const& expanded, catalog const& source, job_files const& files) {
    return expanded.is_complete ? catalog_of(lower_exports(expanded.code, source, files).map)
                                : catalog();
}

catalog catalog_of(detail::layout_table const& table, catalog const& known_catalog) {
    reshard::vector<catalog_entry> entries;
    for (detail::layout_row const& row : table.rows) {
        catalog_entry const* const yielded = known_catalog.find(row.key);
        data_type const dtype = row.dtype.value_or(yielded ? yielded->dtype : data_type::f32);
        entries.push_back(detail::entry_of(row.key, dtype, {row.shape, row.shards}));
    }
    return catalog(std::move(entries));
}

program_expander::program_expander(catalog const& source, job_files const& files)
    : source_(source), files_(files) {
    if (!files.like.empty())
        like_ = tensors_like(files.like);
    if (!has_renames_beside(files))
        return;
    rules_.emplace(files.renames);
    if (files.reverse)
        return;
    states_ = states_in(source);
    before_ = tensor_renames(*rules_, source, states_, files);
    seen_ = renamed(source, before_, states_, files);
}

reshard::vector<aoa::known_tensor>
program_expander::known_tensors(detail::layout_table const* target) const {
    auto match = target ? known_rows(*target) : reshard::vector<aoa::known_tensor>();
    catalog const rows = aoa::catalog_of(match);
    for (aoa::known_tensor const& tensor : like_)
        if (!rows.find(tensor.entry.key))
            match.push_back(tensor);
    if (!rules_ || !files_.reverse)
        return match;
    reshard::vector<aoa::known_tensor> before;
    for (aoa::known_tensor& tensor : match)
        if (auto key = rules_->undo(tensor.entry.key)) {
            tensor.entry.key = std::move(*key);
            before.push_back(std::move(tensor));
        }
    return before;
}

/// Refuses a checkpoint for `--like` that has none of the tensors that the program makes, since it
/// would have no effect.
void program_expander::check_like(aoa::program const& back) const {
    key_set set;
    for (aoa::statement const& statement : back.statements())
        for (aoa::name const& name : back.right(statement))
            if (name.kind == aoa::name::kind_type::text)
                set.emplace(back.text(name));
    auto const match = known_tensors(nullptr);
    bool const has_one = std::ranges::any_of(
        match, [&](aoa::known_tensor const& tensor) { return set.contains(tensor.entry.key); });
    if (!has_one && !set.empty())
        fail(errc::unknown_key, files_.like, " (--like): has none of the tensors that ",
             files_.program, " makes in reverse, such as '", *set.begin(), "'; ",
             match.empty() ? "it has no tensor" : "it has '" + match.front().entry.key + "'",
             "; give the checkpoint that the program was for, or omit --like");
}

aoa::expansion program_expander::expand_as_written(aoa::program const& written,
                                                   detail::layout_table const* target) const {
    if (runs_backwards(files_)) {
        auto tensors = known_tensors(target);
        catalog const& source = seen();
        add_stated_shapes(tensors, written.source_text(), source, files_.program);
        aoa::expansion back = expand_backwards(written, source, tensors, files_);
        if (back.is_complete && !files_.like.empty())
            check_like(back.code);
        return back;
    }
    if (!target)
        return aoa::expand_all(written, seen(), nullptr, files_.expanding);
    catalog const shapes = catalog_of(*target, {});
    return aoa::expand_all(written, seen(), &shapes, files_.expanding);
}

aoa::expansion program_expander::expand(aoa::program const& written,
                                        detail::layout_table const* target) const {
    aoa::expansion expanded = expand_as_written(written, target);
    if (!rules_ || !expanded.is_complete)
        return expanded;
    if (!files_.reverse) {
        refuse_old_names(expanded, source_, *seen_, before_);
        add_renames(expanded.code, before_, true);
        add_states(expanded.code, states_);
        return expanded;
    }
    catalog const catalog = exports_of(expanded, source_, files_);
    auto const states = states_in(catalog);
    add_renames(expanded.code, tensor_renames(*rules_, catalog, states, files_), false);
    add_states(expanded.code, states);
    return expanded;
}

} // namespace tool
