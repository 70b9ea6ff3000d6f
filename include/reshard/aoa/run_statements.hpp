// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_RUN_STATEMENTS_HPP
#define RESHARD_AOA_RUN_STATEMENTS_HPP

#include <reshard/aoa/lower_context.hpp>
#include <reshard/core/config.hpp>

/// \file
/// The first half of `lower`: statements run, and names get their values.

namespace reshard::aoa::detail {

/// Runs the statements of a program one after the other, each binding what it makes.
RESHARD_DECL void run_statements(lower_context& context);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/run_statements.ipp>
#endif

#endif
