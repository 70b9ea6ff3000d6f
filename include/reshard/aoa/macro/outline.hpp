// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_OUTLINE_HPP
#define RESHARD_AOA_MACRO_OUTLINE_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/core/config.hpp>

#include <string>
#include <string_view>
#include <vector>

/// \file
/// Keys without their numbers: what a name with open numbers and the keys that it means have in
/// common.

namespace reshard::aoa::detail {

/// A key with each run of digits replaced by one `0`.
RESHARD_DECL void append_outline(std::string& outline, std::string_view text);

/// The outline of all keys that a name with open numbers may mean.
RESHARD_DECL std::string outline_of(std::vector<segment> const& segments);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/outline.ipp>
#endif

#endif
