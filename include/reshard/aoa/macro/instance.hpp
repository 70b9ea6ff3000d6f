// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_INSTANCE_HPP
#define RESHARD_AOA_MACRO_INSTANCE_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/pattern_index.hpp>
#include <reshard/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

/// \file
/// The statement that one with placeholders is, for each combination of numbers.

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

/// What a placeholder adds to the number: what is written, and one less on the right for the
/// offset.
RESHARD_DECL index_t shift_of(segment const& placeholder, bool on_right);

/// A statement for each match of the deciding name.
RESHARD_DECL void append_instances(macro_context& context, statement const& one,
                                   placeholder_use const& use,
                                   std::vector<key_match> const& matches,
                                   std::vector<statement>& expanded);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/instance.ipp>
#endif

#endif
