// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_FIT_SHAPES_IPP
#define RESHARD_EXPR_IMPL_FIT_SHAPES_IPP

#include <reshard/expr/fit_shapes.hpp>

namespace reshard::detail {

RESHARD_DECL bool note_matches(std::vector<key_pattern> const& patterns, std::string const& key,
                               std::vector<bool>& used) {
    bool matches = false;
    for (std::size_t i = 0; i < patterns.size(); ++i)
        if (patterns[i].matches(key))
            matches = used[i] = true;
    return matches;
}

} // namespace reshard::detail

#endif
