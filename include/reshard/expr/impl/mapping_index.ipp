// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_MAPPING_INDEX_IPP
#define RESHARD_EXPR_IMPL_MAPPING_INDEX_IPP

#include <reshard/expr/mapping_index.hpp>

#include <reshard/core/config.hpp>

namespace reshard::detail {

RESHARD_DECL mapping_index::mapping_index(mapping const& program) {
    for (mapping_output const& output : program.outputs())
        if (output.value.pieces.size() > few)
            indices_.emplace(&output, piece_index(output.value.pieces));
}

} // namespace reshard::detail

#endif
