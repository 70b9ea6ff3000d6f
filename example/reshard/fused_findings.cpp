// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "fused_findings.hpp"
#include "findings.hpp"
#include "fused_names.hpp"
#include "renames.hpp"
#include "report.hpp"
#include "spec.hpp"

#include <reshard/aoa/statement_trace.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/expr/fused_outputs.hpp>
#include <reshard/plan/problem.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace tool {

using namespace reshard;

namespace {

/// The rules of a target, which is read when they are first needed.
class target_rules {
public:
    explicit target_rules(job_files const& files) : files_(files) {}

    /// Null for a target without rules.
    detail::layout_rules const* rules() {
        if (!file_)
            file_ = read_target(files_.target, files_.reading.mode);
        return std::get_if<detail::layout_rules>(&*file_);
    }

    /// Whether a rule gives each rank its share of each part of a tensor.
    bool cuts_parts_of(std::string const& key) {
        auto const* const all_rules = rules();
        detail::layout_rule const* const rule = all_rules ? all_rules->rule_of(key) : nullptr;
        return rule && !rule->fused.empty();
    }

private:
    job_files const& files_;
    std::optional<detail::layout_file> file_;
};

/// The source tensor that an output copies unchanged, or null.
catalog_entry const* source_of(mapping const& program, catalog_entry const& wanted,
                               catalog const& source) {
    mapping_output const* const output = program.find(wanted.key);
    if (!output || !detail::is_source_box(output->value))
        return nullptr;
    catalog_entry const* const from =
        source.find(program.sources().key(output->value.pieces.source(0)));
    return from && from->shape == wanted.shape ? from : nullptr;
}

/// The axes along which the target cuts a tensor into more than one part, and not into the source's
/// number of parts.
reshard::vector<std::size_t> axes_cut_anew(catalog_entry const& wanted, catalog_entry const& from) {
    reshard::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < wanted.parts.size(); ++axis)
        if (wanted.parts[axis] > 1 && wanted.parts[axis] != from.parts[axis])
            axes.push_back(axis);
    return axes;
}

/// The advice about cut tensors, by the known order of their rows.
std::string_view fused_advice(fused_order order) {
    switch (order) {
    case fused_order::parts:
        return ": tensors with this name contain several tensors, one after the other, so "
               "ranks would get rows of the wrong tensors; give its rule \"parts\", or rebuild "
               "it with a program (fused_ffn, fused_qkv_old, fused)";
    case fused_order::by_head:
        return ": tensors with this name contain the rows of several tensors, head by head, "
               "and the layout cuts inside a head; use a number of parts that divides the "
               "number of heads";
    case fused_order::heads:
        return ": the rows of tensors with this name form heads, and the layout cuts inside a "
               "head; unless the job gathers it first, use a number of parts that divides the "
               "number of heads, or replicate it";
    default:
        return ": its name may mean that several tensors are fused in it; if they are fused "
               "part by part, ranks would get rows of the wrong tensors: rebuild it with a "
               "program (fused_ffn, fused_qkv_old, fused); groups of heads, as from fused_qkv, "
               "need no change";
    }
}

/// Notes tensors whose names are usual for fused tensors, if the source does not say how they were
/// made. If the source's files say it for other tensors, then queries, keys and values without a
/// statement are groups of heads.
void note_seemingly_fused(job& full_job, layout const& layout, catalog const& source,
                          job_files const& files, target_rules& target) {
    std::map<fused_order, reshard::vector<std::string>> cuts;
    std::optional<model_facts> model;
    catalog const nothing;
    for (catalog_entry const& wanted : full_job.target ? *full_job.wanted : nothing) {
        catalog_entry const* const from = source_of(full_job.map(), wanted, source);
        auto const axes = from ? axes_cut_anew(wanted, *from) : reshard::vector<std::size_t>();
        if (axes.empty() || full_job.map().fused().contains(wanted.key) ||
            (!layout.fused.empty() && wanted.key.find("qkv") != wanted.key.npos))
            continue;
        if (!model)
            model = facts_beside(files.source);
        if (auto const cut = find_fused_cut(wanted, axes, *model);
            cut && !target.cuts_parts_of(wanted.key))
            cuts[cut->order].push_back(
                "'" + wanted.key + "' from " +
                counted(static_cast<std::size_t>(from->parts[cut->axis]), "part") + " into " +
                std::to_string(wanted.parts[cut->axis]) + " along axis " +
                std::to_string(cut->axis));
    }
    for (auto const& [order, of_order] : cuts)
        full_job.notes.push_back(unplaced(aoa::severity::note, "layout", {},
                                          "the layout cuts " + of_order.front() +
                                              detail::and_more_keys(of_order.size()) +
                                              std::string(fused_advice(order))));
}

/// Notes tensors in parts that are read as plain tensors, unless that may be intended.
void note_parts_taken_whole(job& full_job, layout const& layout, job_files const& files) {
    std::string const text =
        files.cut_fused ? ""
                        : text_of_parts(full_job.map(), layout,
                                        full_job.wanted ? &*full_job.wanted : nullptr, files);
    if (!text.empty())
        full_job.notes.push_back(unplaced(aoa::severity::note, "layout", {}, text));
}

/// Adds an error about fused tensors, or a note if the options allow the fault.
void add_fused_fault(job& full_job, std::string const& fault, std::string const& allowed_by,
                     job_files const& files) {
    if (files.cut_fused)
        full_job.notes.push_back(unplaced(aoa::severity::note, "fused", {}, fault));
    else
        add_error(full_job, errc::bad_layout, {}, fault + allowed_by);
}

/// Reports an output that has elements of a fused source tensor, but not equally from all its
/// parts.
void check_fused_sources(job& full_job, layout const& layout, job_files const& files) {
    detail::carry_fused(full_job.lowered.map, layout);
    if (auto const fault = detail::find_torn_fused(full_job.map(), layout))
        add_fused_fault(full_job, *fault, "; if that is intended, --cut-fused allows it", files);
}

/// De-interleaves the tensors that the target does not cut.
void deinterleave_whole(job& full_job, layout const& layout, job_files const& files) {
    if (files.cut_fused || full_job.first_error())
        return;
    try {
        std::string const text = detail::deinterleave_whole(
            full_job.lowered.map, layout, full_job.target ? &*full_job.target : nullptr);
        if (!text.empty())
            full_job.notes.push_back(unplaced(aoa::severity::note, "fused_whole", {}, text));
    } catch (error const& problem) {
        add_error(full_job, problem.code(), {}, problem.what());
    }
}

/// The mesh axes of a rule that cut one axis of its tensors, for example `'tp' (4) and 'fsdp' (2)`.
/// Empty unless there are several, or one has a name that is usual for data parallelism.
std::string axes_that_cut(detail::layout_rules const& rules, detail::layout_rule const& rule,
                          index_t axis) {
    constexpr std::string_view of_data[] = {"dp", "fsdp", "ddp", "zero", "data"};
    std::string text;
    std::size_t count = 0;
    bool is_data = false;
    for (std::size_t i = 0; i < rule.placements.size(); ++i) {
        mesh_axis const& by = rules.ranks.all_axes[i];
        if (!rule.placements[i].cuts() || by.extent < 2 ||
            static_cast<index_t>(rule.placements[i].axis) != axis)
            continue;
        text += (count++ > 0 ? " and '" : "'") + std::string(by.name()) + "' (" +
                std::to_string(by.extent) + ")";
        is_data = is_data || std::ranges::find(of_data, by.name()) != std::end(of_data);
    }
    return count > 1 || is_data ? text : std::string();
}

/// Warns about tensors that are fused for more parts than there are tensor-parallel ranks, because
/// other mesh axes cut them, too.
void warn_fused_by_axes(job& full_job, target_rules& target) {
    if (!full_job.target || full_job.map().fused().empty())
        return;
    auto const* const rules = target.rules();
    std::string first, text;
    std::size_t count = 0;
    for (auto const& [key, result] : full_job.map().fused())
        for (std::size_t i = 0; rules && i < rules->rules.size(); ++i) {
            if (!rules->rules[i].match.matches(key))
                continue;
            std::string const axes = axes_that_cut(*rules, rules->rules[i], result.axis);
            if (!axes.empty() && result.blocks > 1 && count++ == 0) {
                first = key;
                text = "'" + key + "' is interleaved in " + std::to_string(result.blocks) +
                       " parts along axis " + std::to_string(result.axis) + ", by the mesh axes " +
                       axes;
            }
            break;
        }
    if (count > 0)
        full_job.lowered.findings.push_back(unplaced(
            aoa::severity::warning, "fused_axes", first,
            text + detail::and_more_keys(count) +
                "; a tensor-parallel job expects one part for each tensor-parallel rank: fuse "
                "with a layout that is cut only for these ranks, then cut the result with "
                "--cut-fused"));
}

/// Advice on renaming the scales of a tensor that `--rename` renames.
std::string advice_to_rename(detail::scale_finding const& finding) {
    return finding.statement.empty() ? ""
           : finding.rename.empty()  ? "; rename the scales too (--rename)"
                                     : "; rename the scales too: --rename '" + finding.rename + "'";
}

} // namespace

void check_fused(job& full_job, layout const& layout, catalog const& source,
                 job_files const& files) {
    check_fused_sources(full_job, layout, files);
    if (!files.cut_fused) {
        target_rules target(files);
        note_seemingly_fused(full_job, layout, source, files, target);
        note_parts_taken_whole(full_job, layout, files);
        warn_fused_by_axes(full_job, target);
    }
    deinterleave_whole(full_job, layout, files);
    auto const fault =
        full_job.target ? detail::find_fused_fault(full_job.map(), *full_job.target) : std::nullopt;
    if (fault)
        add_fused_fault(full_job, *fault,
                        "; if a job gathers the parts before it uses them, as FSDP does, "
                        "--cut-fused allows it",
                        files);
}

void check_scale_sources(job& full_job, layout const& layout, job_files const& files) {
    auto carry_scales = detail::carry_scales(full_job.lowered.map, layout);
    auto const unknown = detail::find_unknown_scales(full_job.map(), layout,
                                                     full_job.target ? &*full_job.target : nullptr);
    if (unknown)
        carry_scales.push_back(*unknown);
    if (carry_scales.empty())
        return;
    aoa::statement_trace const trace(full_job.code());
    for (detail::scale_finding const& finding : carry_scales) {
        bool const is_error = finding.level == aoa::severity::error;
        aoa::finding new_finding =
            unplaced(finding.level, is_error ? name(finding.code) : "left_scales", finding.key,
                     finding.message);
        auto const numbers = trace.leading_to(finding.key);
        if (!numbers.empty() && !has_renames(files)) {
            aoa::statement const& maker = full_job.code().statements()[numbers.back()];
            new_finding.where = maker.where;
            new_finding.origin = maker.origin;
        }
        bool const is_rename =
            has_renames(files) || (!numbers.empty() && new_finding.where == aoa::text_span());
        new_finding.message += is_rename ? advice_to_rename(finding) : finding.statement;
        full_job.lowered.findings.push_back(std::move(new_finding));
        if (is_error && !full_job.lowered.first_error)
            full_job.lowered.first_error = finding.code;
    }
}

} // namespace tool
