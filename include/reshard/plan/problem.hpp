// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PROBLEM_HPP
#define RESHARD_PLAN_PROBLEM_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/plan/plan_problem.hpp>

#include <string>

/// \file
/// Makes the problem of a plan from layouts and a mapping: replaces names by numbers.

namespace reshard {

/// Looks up each name of `target` in `program`, and each name of `program` in `source`.
///
/// \throws error with errc::unknown_key for a target tensor that the program does not make (it
///         names a rank that wants the tensor), errc::shape_mismatch or errc::dtype_mismatch if
///         layouts and program differ; the errors of `check_readable`
RESHARD_DECL detail::plan_problem problem_of(mapping const& program, layout const& source,
                                             layout const& target);

namespace detail {

/// A target tensor that needs an unreadable source tensor.
struct unread_use {
    std::string key;
    std::string message;
};

/// The outputs of a program that need unreadable tensors (`layout::unread`), each output once.
///
/// \param target the wanted tensors; null: all outputs of the program
RESHARD_DECL vector<unread_use> find_unread(mapping const& program, layout const& source,
                                            layout const* target);

/// \throws error with errc::unsupported for the first result of `find_unread`
RESHARD_DECL void check_readable(mapping const& program, layout const& source,
                                 layout const* target);

/// A tensor with a holder that has elements, but not the scales of their blocks.
struct scales_apart {
    std::string key;
    std::string message;
};

/// The tensors of `target` that a program relates to scales, if a holder of elements lacks scales
/// of their blocks; each tensor once. Flat shards are not checked, because they are joined before
/// use. A target without scales is not checked either.
RESHARD_DECL vector<scales_apart> find_scales_apart(mapping const& program, layout const& target);

/// \throws error with errc::bad_layout for the first result of `find_scales_apart`
RESHARD_DECL void check_scales(mapping const& program, layout const& target);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/problem.ipp>
#endif

#endif
