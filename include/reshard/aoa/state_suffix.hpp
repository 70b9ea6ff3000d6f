// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_STATE_SUFFIX_HPP
#define RESHARD_AOA_STATE_SUFFIX_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>

#include <string>
#include <string_view>
#include <vector>

/// \file
/// Which keys are optimizer state or scales, told by the end of the key.

namespace reshard::aoa {

/// An ending that makes a key the state, or the scales, of the parameter whose key stands before
/// it.
struct state_suffix {
    std::string suffix;
    bool scalar = false;     ///< one number, whatever the shape of the parameter
    index_vector block = {}; ///< not empty: one number for each block of these extents

    /// Whether the state has the shape of its parameter.
    bool is_alike() const { return !scalar && block.empty(); }

    bool operator==(state_suffix const&) const = default;
};

/// The endings of PaddlePaddle, in the order in which they are tried.
RESHARD_DECL std::vector<state_suffix> default_state_suffixes();

namespace detail {

/// The ending of a key that is state, or null.
RESHARD_DECL state_suffix const* state_suffix_of(std::string_view key,
                                                 std::vector<state_suffix> const& suffixes);

/// The key of the parameter that a key is, or is the state of.
RESHARD_DECL std::string_view parameter_of(std::string_view key,
                                           std::vector<state_suffix> const& suffixes);

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/state_suffix.ipp>
#endif

#endif
