// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_STATE_NEED_HPP
#define RESHARD_LAYOUT_STATE_NEED_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/strictness.hpp>

#include <string>
#include <string_view>

/// \file
/// Refuses a job that lacks required keys.

namespace reshard {

namespace detail {

/// Throws if required keys are missing.
///
/// \param field the name of the member that lists the needs, for the message
/// \param known_names the keys that patterns may match
/// \param there the keys that are saved or loaded
/// \throws error with errc::unknown_key, which names the first missing keys, the key to which each
///         belongs, and a similar key that is not required
RESHARD_DECL void check_needs(std::string_view field, vector<state_need> const& needs,
                              vector<std::string> const& known_names,
                              vector<std::string> const& there);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/state_need.ipp>
#endif

#endif
