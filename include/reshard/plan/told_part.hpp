// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TOLD_PART_HPP
#define RESHARD_PLAN_TOLD_PART_HPP

#include <reshard/core/config.hpp>
#include <reshard/plan/plan.hpp>

#include <map>
#include <vector>

/// \file
/// The subplan that the maker of a plan sends to a source holder.

namespace reshard::detail {

/// Transfers out of a larger plan, with numbers of their own for targets, patterns, chains and
/// sources.
struct told_part {
    std::vector<key_id> sources; ///< by source key of `part`: its number in the larger plan
    plan part;

    static constexpr void members(auto& self, auto&& visit) { visit(self.sources, self.part); }

    bool operator==(told_part const&) const = default;
};

template <>
inline constexpr stored_form form_of<told_part>{"part of a plan", 9};

/// \throws error with errc::bad_layout where a source has no number
RESHARD_DECL void validate(told_part const& told);

/// By source holder, the transfers that holders other than `target` give it.
///
/// \post the transfers of each part stand in the order of `whole`
RESHARD_DECL std::map<holder_t, told_part> told_parts(plan const& whole, holder_t target);

/// Adds transfers received from others, as those of targets of their own.
///
/// \pre the sources of `told` are keys of `whole`
RESHARD_DECL void append(plan& whole, told_part told);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/told_part.ipp>
#endif

#endif
