// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STRICT_KEYS_HPP
#define RESHARD_STORAGE_STRICT_KEYS_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/strictness.hpp>

#include <string>
#include <string_view>
#include <vector>

/// \file
/// Strictness where tensors are loaded and files converted.

namespace reshard::detail {

RESHARD_DECL std::vector<std::string> keys_of(layout const& held);

RESHARD_DECL std::vector<std::string> keys_of(mapping const& program);

/// Judges the keys of a layout by those that exist.
///
/// \throws error with errc::unknown_key where the mode says so
RESHARD_DECL strict_verdict judge_keys(strictness mode, layout const& wanted,
                                       std::vector<std::string> available);

/// Whether a verdict leaves a key out.
RESHARD_DECL bool leaves_out(strict_verdict const& verdict, std::string_view key);

/// The layout without the keys that a verdict leaves out.
RESHARD_DECL layout without_left_out(layout held, strict_verdict const& verdict);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/strict_keys.ipp>
#endif

#endif
