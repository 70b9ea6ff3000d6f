// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_ATTEMPT_IPP
#define RESHARD_AOA_MACRO_IMPL_ATTEMPT_IPP

#include <reshard/aoa/macro/attempt.hpp>

#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/make_finding.hpp>

#include <string>

namespace reshard::aoa::detail {

RESHARD_DECL bool keeps(macro_context& context, name const& one, bool is_read) {
    if (one.kind == name::kind_type::pattern) {
        context.lost.push_back({one, is_read});
        if (!is_read)
            context.lost_outlines.insert(outline_of(context.code.pattern(one)));
    }
    return one.kind == name::kind_type::text || one.kind == name::kind_type::fresh;
}

RESHARD_DECL statement broken(macro_context& context, statement const& one) {
    std::vector<name> names[2];
    for (std::size_t i = 0; i < one.left + one.right; ++i) {
        name each_name = context.code.names(one)[i];
        each_name.transposed = false;
        if (keeps(context, each_name, i < one.left))
            names[i >= one.left].push_back(each_name);
    }
    statement like = one;
    like.attributes = 0;
    like.origin = context.code.make_origin({{}, 0, one.where, true});
    return context.code.make_statement(names[0], names[1], like);
}

RESHARD_DECL void add_error(macro_context& context, failed_statement const& failure) {
    if (!context.first_error)
        context.first_error = failure.problem.code;
    context.findings.push_back(make_finding(context.code, failure.about, failure.problem));
}

RESHARD_DECL void add_error(macro_context& context, error const& problem) {
    if (!context.first_error)
        context.first_error = problem.code();
    context.findings.push_back(
        {severity::error, std::string(reshard::name(problem.code())), {}, problem.what(), {}, 0});
}

} // namespace reshard::aoa::detail

#endif
