// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_EXPAND_IPP
#define RESHARD_AOA_IMPL_EXPAND_IPP

#include <reshard/aoa/expand.hpp>

#include <reshard/aoa/diagnostic.hpp>
#include <reshard/aoa/lost_names.hpp>
#include <reshard/aoa/macro/chain.hpp>
#include <reshard/aoa/macro/check_attributes.hpp>
#include <reshard/aoa/macro/fused.hpp>

#include <algorithm>
#include <utility>

namespace reshard::aoa {

namespace detail {

RESHARD_DECL bool needs_chain(macro_context const& context,
                              std::vector<statement> const& statements) {
    return std::ranges::any_of(statements, [&](statement const& one) {
        return std::ranges::any_of(macros, [&](macro const& each_macro) {
            return each_macro.needs_chain && is_fused(context, one, each_macro.name);
        });
    });
}

/// Applies all macros, each to everything that the one before it made.
///
/// \throws failed_statement with errc::limit_exceeded
inline void apply_macros(macro_context& context, std::vector<statement>& statements) {
    check_attributes(context, statements);
    std::optional<name_chain> chain;
    for (macro const& each_macro : macros) {
        if (each_macro.needs_chain && !chain && needs_chain(context, statements))
            context.chain = &chain.emplace(context.code, statements);
        each_macro.expand(context, statements);
    }
}

} // namespace detail

RESHARD_DECL expansion expand_all(program const& written, catalog const& source,
                                  catalog const* target, expand_options const& options) {
    expansion result{written, {}};
    result.code.set_state_suffixes(options.state_suffixes);
    macro_context context{result.code, options.reverse ? target : &source,
                          options.reverse ? &source : target, options, result.findings};
    std::vector<statement> statements = written.statements();
    try {
        detail::apply_macros(context, statements);
        detail::restore_lost_names(context, statements);
    } catch (detail::failed_statement const& limit) {
        detail::add_error(context, limit);
        result.is_complete = false;
    } catch (error const& limit) { // of all statements together
        detail::add_error(context, limit);
        result.is_complete = false;
    }
    result.first_error = context.first_error;
    result.code.replace_statements(std::move(statements));
    return result;
}

RESHARD_DECL expansion expand(program const& written, catalog const& source, catalog const* target,
                              expand_options const& options) {
    expansion result = expand_all(written, source, target, options);
    if (result.first_error)
        fail(*result.first_error, describe(result.code, *first_error_of(result.findings)));
    return result;
}

} // namespace reshard::aoa

#endif
