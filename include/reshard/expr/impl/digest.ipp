// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_DIGEST_IPP
#define RESHARD_EXPR_IMPL_DIGEST_IPP

#include <reshard/expr/digest.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/expr/mapping.hpp>

namespace reshard::detail {

RESHARD_DECL std::uint64_t digest_of(mapping const& program) {
    hasher digest;
    add_value(digest, program.sources());
    add_value(digest, program.outputs());
    add_value(digest, program.removed());
    return digest.value();
}

} // namespace reshard::detail

#endif
