// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_REPEATED_NAME_HPP
#define RESHARD_AOA_REPEATED_NAME_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/core/config.hpp>

#include <span>

/// \file
/// Names that stand twice in a list.

namespace reshard::aoa::detail {

/// The first name that has stood before in the list, or null.
///
/// \pre each is a text or a temporary
RESHARD_DECL name const* repeated_name(std::span<name const> names);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/repeated_name.ipp>
#endif

#endif
