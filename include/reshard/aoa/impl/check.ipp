// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_CHECK_IPP
#define RESHARD_AOA_IMPL_CHECK_IPP

#include <reshard/aoa/check.hpp>

#include <reshard/aoa/data_loss.hpp>
#include <reshard/aoa/scale_suffix.hpp>

#include <reshard/aoa/lower.hpp>
#include <reshard/expr/check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace reshard::aoa {

RESHARD_DECL bool program_report::ok() const { return first_error_of(findings) == nullptr; }

RESHARD_DECL std::string why_not_invertible(program_report const& of) {
    if (!of.ok())
        return "the program has errors";
    if (of.losses.empty())
        return {};
    data_loss const& first = of.losses.front();
    std::string text = "'" + first.lost.key + "' " + first.text;
    if (first.where.last > first.where.first)
        text += " (the statement at " + detail::place_text(of.code, first.where) + ")";
    std::size_t const more = of.losses.size() - 1;
    return text + (more > 0 ? "; and " + std::to_string(more) + " more" : "");
}

namespace detail {

/// Sorts findings by their position in the program's text. Findings without a position come last.
inline void sort_findings(vector<finding>& findings) {
    auto const position_of = [](finding const& finding) {
        return finding.where.last > finding.where.first ? std::pair(0, finding.where.first)
                                                        : std::pair(1, 0u);
    };
    std::ranges::stable_sort(findings, {}, position_of);
}

/// Does the work of `check`, after `expand_all` and `lower_all`.
class program_checker {
public:
    program_checker(expansion const& expanded, lowering const& lowered, catalog const& source,
                    catalog const* target)
        : expanded_(expanded), lowered_(lowered), source_(source), target_(target) {}

    program_report run(vector<state_suffix> const& suffixes) {
        result_.code = expanded_.code;
        result_.findings = expanded_.findings;
        result_.findings.insert(result_.findings.end(), lowered_.findings.begin(),
                                lowered_.findings.end());
        if (result_.ok()) {
            note_idle();
            for (finding& finding : dropped_findings(lowered_))
                result_.findings.push_back(std::move(finding));
            add_report(reshard::check(lowered_.map, source_, target_), suffixes);
        } else
            result_.keys = classify(lowered_.map, source_);
        sort_findings(result_.findings);
        return std::move(result_);
    }

private:
    using bytes = std::pair<std::uint32_t, std::uint32_t>;
    static bytes bytes_of(text_span where) { return {where.first, where.last}; }

    /// Notes the user's statements whose expanded statements all have no effect.
    void note_idle() {
        std::unordered_set<std::uint32_t> const idle(lowered_.idle.begin(), lowered_.idle.end());
        std::map<bytes, bool> works;
        auto const& statements = expanded_.code.statements();
        if (!idle.empty())
            for (std::uint32_t i = 0; i < statements.size(); ++i)
                works[bytes_of(statements[i].where)] |= !idle.contains(i);
        for (std::uint32_t const i : lowered_.idle)
            if (bool& done = works[bytes_of(statements[i].where)]; !done) {
                done = true;
                std::string const key(expanded_.code.text(expanded_.code.left(statements[i])[0]));
                result_.findings.push_back(
                    {severity::note, "no_effect", key,
                     "the statement has no effect: '" + key + "' already has this value",
                     statements[i].where, 0});
            }
    }

    void add_report(reshard::report&& report, vector<state_suffix> const& suffixes) {
        std::unordered_set<std::string_view> const left(lowered_.unexpected.begin(),
                                                        lowered_.unexpected.end());
        for (mapping_finding const& finding : report.findings)
            if (finding.level == severity::error && !left.contains(finding.key))
                result_.findings.push_back(
                    {finding.level, finding.code, finding.key, finding.message, {}, 0});
        result_.keys = std::move(report.keys);
        data_loss_finder finder(expanded_.code, lowered_);
        for (loss const& loss : report.losses)
            result_.losses.push_back(finder.find(loss));
        note_losses(finder, suffixes);
    }

    /// Notes losses that no other finding reports. A tensor's loss includes the loss of its state.
    void note_losses(data_loss_finder const& finder, vector<state_suffix> const& suffixes) {
        auto const usages = usages_of(lowered_.map);
        std::unordered_set<std::string_view> keys, shadowed;
        for (data_loss const& loss : result_.losses)
            if (loss.lost.type != loss::kind::rounded)
                keys.insert(loss.lost.key);
        for (finding const& finding : lowered_.findings)
            if (finding.code == "shadowed" || finding.code == "replaced")
                shadowed.insert(finding.key);
        for (data_loss const& loss : result_.losses) {
            bool const follows = any_parameter(
                loss.lost.key, suffixes, [&](std::string_view parameter, state_suffix const&) {
                    return keys.contains(parameter);
                });
            if (follows || loss.lost.type == loss::kind::removed ||
                shadowed.contains(loss.lost.key) ||
                finder.is_dropped(loss.lost, usages[loss.lost.source]))
                continue;
            bool const rounds = loss.lost.type == loss::kind::rounded;
            result_.findings.push_back({severity::note, rounds ? "rounded" : "unused",
                                        loss.lost.key, "'" + loss.lost.key + "' " + loss.text,
                                        loss.where, loss.origin});
        }
    }

    expansion const& expanded_;
    lowering const& lowered_;
    catalog const& source_;
    catalog const* target_;
    program_report result_;
};

} // namespace detail

RESHARD_DECL program_report check(expansion const& expanded, lowering const& lowered,
                                  catalog const& source, catalog const* target) {
    return detail::program_checker(expanded, lowered, source, target)
        .run(detail::with_scales(expanded.code.state_suffixes(), expanded.code));
}

RESHARD_DECL program_report check(program const& written, catalog const& source,
                                  catalog const* target, check_options const& options) {
    expansion const expanded = expand_all(written, source, target, options.expanding);
    if (!expanded.is_complete) {
        program_report stopped{expanded.code, expanded.findings, {}, {}};
        detail::sort_findings(stopped.findings);
        return stopped;
    }
    lowering const lowered = lower_all(expanded.code, source, target, options.lowering);
    return check(expanded, lowered, source, target);
}

} // namespace reshard::aoa

#endif
