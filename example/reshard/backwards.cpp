// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "backwards.hpp"
#include "findings.hpp"
#include "job.hpp"
#include "report.hpp"

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/reverse.hpp>
#include <reshard/expr/piece_list.hpp>

#include <iterator>
#include <utility>

namespace tool {

using namespace reshard;

void name_flags(std::string& text) {
    for (auto const& [option, flag] : {std::pair{"(option allow_rounding)", "(--allow-rounding)"},
                                       std::pair{"(option allow_removed)", "(--allow-removed)"},
                                       std::pair{"(option take_first)", "(--take-first)"},
                                       std::pair{"(option like)", "(--like OLD)"}})
        if (auto const position = text.find(option); position != text.npos)
            text.replace(position, std::string_view(option).size(), flag);
}

namespace {

/// An expansion that ends with an error.
aoa::expansion stopped(aoa::program code, reshard::vector<aoa::finding> findings,
                       std::optional<errc> first_error) {
    for (aoa::finding& finding : findings)
        name_flags(finding.message);
    return {std::move(code), std::move(findings), first_error, false};
}

void append(reshard::vector<aoa::finding>& findings, reshard::vector<aoa::finding> more) {
    findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
}

} // namespace

aoa::reversal reverse_program(aoa::program const& expanded, catalog const& source,
                              catalog const* target, job_files const& files) {
    aoa::reverse_options options = files.reversing;
    options.lowering = files.lowering;
    aoa::reversal back = aoa::reverse_all(expanded, source, target, options);
    for (aoa::finding& finding : back.findings)
        name_flags(finding.message);
    return back;
}

aoa::expansion expand_backwards(aoa::program const& written, catalog const& source,
                                reshard::vector<aoa::known_tensor> const& tensors,
                                job_files const& files) {
    catalog const keys = aoa::catalog_of(tensors);
    aoa::expand_options telling = files.expanding;
    telling.no_match = aoa::on_no_match::ignore;
    telling.reverse = true;
    aoa::expansion expansion =
        aoa::expand_all(written, source, tensors.empty() ? nullptr : &keys, telling);
    if (expansion.first_error)
        return stopped(std::move(expansion.code), std::move(expansion.findings),
                       expansion.first_error);
    aoa::inference inferred = aoa::infer_source(expansion.code, tensors, source);
    if (inferred.first_error)
        return stopped(std::move(expansion.code), std::move(inferred.findings),
                       inferred.first_error);
    aoa::expansion forward = aoa::expand_all(written, inferred.tensors, &source, files.expanding);
    if (forward.first_error)
        return stopped(std::move(forward.code), std::move(forward.findings), forward.first_error);
    aoa::reversal back = reverse_program(forward.code, inferred.tensors, &source, files);
    erase_if(back.findings, [&](aoa::finding const& finding) { // no tensor needs it
        return finding.code == "no_effect" && !inferred.tensors.find(finding.key);
    });
    for (aoa::finding& finding : inferred.findings)
        finding.origin = 0; // its chain of macros belongs to another expansion
    append(inferred.findings, std::move(forward.findings));
    append(inferred.findings, std::move(back.findings));
    return {std::move(back.code), std::move(inferred.findings), back.first_error,
            !back.first_error};
}

std::string errors_text(aoa::reversal const& of, std::string const& file) {
    aoa::finding const& first = *aoa::first_error_of(of.findings);
    std::string text = is_placed(first) ? aoa::describe(of.code, first)
                                        : file + ": " + aoa::kind_of(first) + ": " + first.message;
    reshard::vector<std::string> others;
    for (aoa::finding const& finding : of.findings)
        if (finding.level == aoa::severity::error && finding.key != first.key &&
            (others.empty() || others.back() != finding.key))
            others.push_back(finding.key);
    if (!others.empty())
        text += "\n  and " + counted(others.size(), "more error") + ": " + listed(others);
    return text;
}

} // namespace tool
