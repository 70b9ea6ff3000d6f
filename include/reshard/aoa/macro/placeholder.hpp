// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_PLACEHOLDER_HPP
#define RESHARD_AOA_MACRO_PLACEHOLDER_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/pattern_index.hpp>
#include <reshard/core/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

/// \file
/// `l.$LAYER_ID.w -> m.$LAYER_ID.w` becomes a statement for each layer that the source has.

namespace reshard::aoa::detail {

/// A statement with placeholders: the name that decides which numbers there are.
struct placeholder_use {
    std::vector<std::string_view> names; ///< captures, in this order
    std::vector<index_t> shifts;         ///< what the deciding name adds to each
    std::size_t deciding = 0;            ///< which name of the statement that is
    bool is_right = false;               ///< it stands right of the arrow
    std::size_t pattern = 0;             ///< that it is
};

/// The place of a name in a sorted list that has it.
inline std::size_t position(std::vector<std::string_view> const& names, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::lower_bound(names, name) - names.begin());
}

/// The different placeholders of a name, in the order of the alphabet.
RESHARD_DECL std::vector<std::string_view> placeholders(std::vector<segment> const& segments);

/// The names that decide, by the side of the arrow that they stand on: that of the source, or else
/// that of the target, where `_ -> l.$LAYER_ID.b` adds to each layer that it has.
using placeholder_sides = std::array<pattern_index, 2>;

/// Replaces each statement with placeholders by one for each combination of numbers that exists.
///
/// The first name with a placeholder decides: it is matched against the parameter keys of the
/// source and, if it is none of them, against the names that earlier statements make; where a
/// statement adds, against those of the target. The order is by ascending numbers, those of the
/// placeholder that is first in the alphabet first.
///
/// Findings: errc::bad_macro when names do not have the same placeholders, when the deciding name
/// has one twice, or when a number becomes negative; no match, as the options say.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the id macro of AOA (PaddlePaddle flex_checkpoint); there `$LAYER_ID` and
///             `$EXPERT_ID` only, all combinations whether they exist or not, keys of the source
///             alone, and no word where nothing matches
RESHARD_DECL void expand_placeholders(macro_context& context, std::vector<statement>& statements);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/placeholder.ipp>
#endif

#endif
