// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_AST_IPP
#define RESHARD_AOA_IMPL_AST_IPP

#include <reshard/aoa/ast.hpp>

#include <algorithm>

namespace reshard::aoa {

RESHARD_DECL attribute const* find_attribute(std::span<attribute const> list,
                                             std::string_view word) {
    auto const position = std::ranges::find(list, word, &attribute::word);
    return position == list.end() ? nullptr : &*position;
}

} // namespace reshard::aoa

#endif
