// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_DIGEST_HPP
#define RESHARD_EXPR_DIGEST_HPP

#include <reshard/core/digest.hpp>
#include <reshard/expr/mapping.hpp>

#include <cstdint>

/// \file
/// A number that stands for a mapping: ranks compare it before they act.

namespace reshard {

class mapping;

} // namespace reshard

namespace reshard::detail {

/// A digest of sources, outputs and removed keys, which are what is carried out; relations are not,
/// so it is not that of all members.
/// Equal mappings have equal digests on every machine.
inline std::uint64_t digest_of(mapping const& program) {
    hasher digest;
    add_value(digest, program.sources());
    add_value(digest, program.outputs());
    add_value(digest, program.removed());
    return digest.value();
}

} // namespace reshard::detail

#endif
