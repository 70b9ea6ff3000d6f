// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_CHECK_ATTRIBUTES_HPP
#define RESHARD_AOA_MACRO_CHECK_ATTRIBUTES_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/core/config.hpp>

#include <vector>

/// \file
/// Attributes that no statement can have are found as they were written, before any macro.

namespace reshard::aoa::detail {

/// Breaks the statements with attributes that no statement can have: what is wrong is said once,
/// and not for each layer.
RESHARD_DECL void check_attributes(macro_context& context, std::vector<statement>& statements);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/check_attributes.ipp>
#endif

#endif
