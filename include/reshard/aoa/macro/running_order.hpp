// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_RUNNING_ORDER_HPP
#define RESHARD_AOA_MACRO_RUNNING_ORDER_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/pattern_index.hpp>
#include <reshard/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

/// \file
/// For macros that see what earlier statements make: statements in the order in which they run.

namespace reshard::aoa::detail {

/// The statements that `expand(i, expanded)` appends for each statement `i`, called in the order in
/// which they run: from the last to the first where the program runs backwards.
template <class Expand>
std::vector<statement> expand_in_order(macro_context const& context, std::size_t statements,
                                       Expand const& expand) {
    std::vector<statement> expanded;
    expanded.reserve(statements);
    for (std::size_t i = 0; i < statements && !context.options.reverse; ++i)
        expand(i, expanded);
    for (std::size_t i = statements; i-- > 0 && context.options.reverse;) {
        auto const first = static_cast<std::ptrdiff_t>(expanded.size());
        expand(i, expanded);
        std::reverse(expanded.begin() + first, expanded.end());
    }
    if (context.options.reverse)
        std::ranges::reverse(expanded);
    return expanded;
}

/// Tells an index which names a statement makes: those on the right or, where the program runs
/// backwards, on the left.
RESHARD_DECL void add_made(macro_context const& context, statement const& one,
                           pattern_index& index);

/// `an earlier statement`: what makes names that a statement may read.
RESHARD_DECL std::string maker_text(macro_context const& context);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/running_order.ipp>
#endif

#endif
