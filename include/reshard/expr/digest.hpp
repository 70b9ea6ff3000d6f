// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_DIGEST_HPP
#define RESHARD_EXPR_DIGEST_HPP

#include <reshard/core/config.hpp>

#include <cstdint>

/// \file
/// A number that stands for a mapping: ranks compare it before they act.

namespace reshard {

class mapping;

namespace detail {

/// A digest of sources, outputs and removed keys, which are what is carried out; relations are not,
/// so it is not that of all members.
/// Equal mappings have equal digests on every machine.
RESHARD_DECL std::uint64_t digest_of(mapping const& program);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/digest.ipp>
#endif

#endif
