// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_ASSIGNMENT_HPP
#define RESHARD_PLAN_ASSIGNMENT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/layout/holder.hpp>

#include <cstdint>
#include <vector>

/// \file
/// Which of one kind goes to which of another, so that the sum of the gains is the greatest.

namespace reshard::detail {

/// What a unit of a row gains in a column.
struct gain {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    index_t value = 0;
};

/// How many of a row go to a column.
struct assigned {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    holder_t count = 0;
};

/// Gives units of rows to columns so that the sum of their gains is the greatest. What is worth
/// nothing is not assigned.
///
/// Exact. Where most pairs have a gain, the time depends little on what the gains are.
///
/// \param gains in the order of rows, each pair at most once; none is negative
/// \param supply by row: how many units there are
/// \param demand by column: how many it takes
RESHARD_DECL std::vector<assigned> best_assignment(std::vector<gain> const& gains,
                                                   std::vector<holder_t> supply,
                                                   std::vector<holder_t> demand);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/assignment.ipp>
#endif

#endif
