// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "expanded_program.hpp"
#include "backwards.hpp"
#include "like.hpp"
#include "program_text.hpp"
#include "renames.hpp"

#include <reshard/aoa/lower.hpp>
#include <reshard/expr/expression.hpp>
#include <reshard/storage/target_files.hpp>

#include <string>
#include <utility>

namespace tool {

using namespace reshard;

namespace {

/// The tensors that a layout file lists, with all that it says of them.
std::vector<aoa::known_tensor> known_rows(detail::layout_table const& table) {
    std::vector<aoa::known_tensor> known;
    for (detail::layout_row const& row : table.rows)
        known.push_back(
            {detail::entry_of(row.key, row.dtype.value_or(data_type::f32), {row.shape, row.shards}),
             row.dtype.has_value()});
    return known;
}

/// The renames of tensors; `object_renames` has those of other values.
std::vector<rename_pair> tensor_renames(rename_rules const& rules, catalog const& tensors,
                                        std::string_view whose, job_files const& files) {
    std::vector<rename_pair> renames =
        rules.pairs(keys_of(tensors, files), states_in(tensors), whose);
    key_set const objects(files.objects.begin(), files.objects.end());
    std::erase_if(renames, [&](rename_pair const& one) {
        return objects.contains(one.first) && !tensors.find(one.first);
    });
    return renames;
}

/// Adds statements that rename, before those of a program or after them.
void add_renames(aoa::program& code, std::vector<rename_pair> const& renames, bool is_before) {
    std::vector<aoa::statement> made;
    for (auto const& [from, to] : renames) {
        aoa::name const left[] = {code.make_text(from)}, right[] = {code.make_text(to)};
        aoa::statement like;
        like.origin = code.make_origin({});
        made.push_back(code.make_statement(left, right, like));
    }
    std::vector<aoa::statement> all = code.statements();
    all.insert(is_before ? all.begin() : all.end(), made.begin(), made.end());
    code.replace_statements(std::move(all));
}

/// The tensors of a source under new names, as they are cut; states have followed.
catalog renamed(catalog const& source, std::vector<rename_pair> const& renames,
                job_files const& files) {
    aoa::program code;
    code.set_state_suffixes(
        aoa::detail::with_conventions(files.expanding.state_suffixes, source, nullptr));
    add_renames(code, renames, true);
    mapping const map = aoa::lower(code, source, nullptr, files.lowering);
    catalog const made = catalog_of(map);
    std::vector<catalog_entry> entries(made.begin(), made.end());
    for (catalog_entry& entry : entries)
        if (auto const* const output = map.find(entry.key);
            output && detail::is_source_box(output->value))
            entry.parts = source[output->value.pieces.source(0)].parts;
    return catalog(std::move(entries));
}

} // namespace

catalog exports_of(aoa::expansion const& expanded, catalog const& source, job_files const& files) {
    return expanded.is_complete
               ? catalog_of(aoa::lower_all(expanded.code, source, nullptr, files.lowering).map)
               : catalog();
}

catalog catalog_of(detail::layout_table const& table, catalog const& known) {
    std::vector<catalog_entry> entries;
    for (detail::layout_row const& row : table.rows) {
        catalog_entry const* const yielded = known.find(row.key);
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
    before_ = tensor_renames(*rules_, source, "the source", files);
    seen_ = renamed(source, before_, files);
}

std::vector<aoa::known_tensor>
program_expander::known_tensors(detail::layout_table const* target) const {
    auto known = target ? known_rows(*target) : std::vector<aoa::known_tensor>();
    catalog const rows = aoa::catalog_of(known);
    for (aoa::known_tensor const& one : like_)
        if (!rows.find(one.entry.key))
            known.push_back(one);
    if (!rules_ || !files_.reverse)
        return known;
    std::erase_if(known, [&](aoa::known_tensor& one) {
        auto const key = rules_->undo(one.entry.key);
        one.entry.key = key.value_or(one.entry.key);
        return !key;
    });
    return known;
}

aoa::expansion program_expander::expand_as_written(aoa::program const& written,
                                                   detail::layout_table const* target) const {
    if (runs_backwards(files_))
        return expand_backwards(written, seen(), known_tensors(target), files_);
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
    catalog const from = files_.reverse ? exports_of(expanded, source_, files_) : source_;
    add_renames(expanded.code,
                files_.reverse ? tensor_renames(*rules_, from, "what the program makes", files_)
                               : before_,
                !files_.reverse);
    expanded.code.set_state_suffixes(
        aoa::detail::with_conventions(expanded.code.state_suffixes(), from, nullptr));
    return expanded;
}

} // namespace tool
