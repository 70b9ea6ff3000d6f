// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PROBLEM_HPP
#define RESHARD_PLAN_PROBLEM_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/plan/plan_problem.hpp>

/// \file
/// From layouts and a mapping to what a plan is made from: names are turned into numbers.

namespace reshard {

/// Looks up each name of `target` in `program`, and each name of `program` in `source`.
///
/// \throws error with errc::unknown_key for a target tensor that the program does not yield (it
///         names a rank that wants it), with
///         errc::shape_mismatch or errc::dtype_mismatch where layouts and program differ
RESHARD_DECL detail::plan_problem problem_of(mapping const& program, layout const& source,
                                             layout const& target);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/problem.ipp>
#endif

#endif
