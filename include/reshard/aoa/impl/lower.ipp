// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_LOWER_IPP
#define RESHARD_AOA_IMPL_LOWER_IPP

#include <reshard/aoa/lower.hpp>

#include <reshard/aoa/define_outputs.hpp>
#include <reshard/aoa/diagnostic.hpp>
#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/relate_copies.hpp>
#include <reshard/aoa/run_statements.hpp>

#include <utility>

namespace reshard::aoa {

RESHARD_DECL lowering lower_all(program const& expanded, catalog const& source,
                                catalog const* target, lower_options const& options) {
    detail::lower_context context(expanded, source, target, options);
    detail::statement_runner(context).run_statements();
    detail::output_definer definer(context);
    if (target)
        definer.define_targets();
    else
        definer.define_exports();
    context.warn_replaced();
    detail::relate_copies(context);
    return std::move(context.result);
}

RESHARD_DECL mapping lower(program const& expanded, catalog const& source, catalog const* target,
                           lower_options const& options) {
    lowering result = lower_all(expanded, source, target, options);
    if (result.first_error)
        fail(*result.first_error, describe(expanded, *first_error_of(result.findings)));
    return std::move(result.map);
}

RESHARD_DECL mapping mapping_of(program const& written, catalog const& source,
                                catalog const* target) {
    return lower(expand(written, source, target).code, source, target);
}

} // namespace reshard::aoa

#endif
