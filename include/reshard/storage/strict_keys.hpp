// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STRICT_KEYS_HPP
#define RESHARD_STORAGE_STRICT_KEYS_HPP

#include <reshard/expr/mapping.hpp>
#include <reshard/layout/strictness.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Strictness where tensors are loaded and files converted.

namespace reshard::detail {

inline std::vector<std::string> keys_of(layout const& held) {
    std::vector<std::string> keys;
    for (tensor_layout const& tensor : held.tensors)
        keys.push_back(tensor.key);
    return keys;
}

inline std::vector<std::string> keys_of(mapping const& program) {
    std::vector<std::string> keys;
    for (mapping_output const& output : program.outputs())
        keys.push_back(output.key);
    return keys;
}

/// Judges the keys of a layout by those that there are.
///
/// \throws error with errc::unknown_key where the mode says so
inline strict_verdict judge_keys(strictness mode, layout const& wanted,
                                 std::vector<std::string> available) {
    if (mode == strictness::assume_ok_unexpected)
        return {};
    strict_verdict verdict = judge(mode, compare_keys(keys_of(wanted), std::move(available)));
    raise(verdict);
    return verdict;
}

/// Whether a verdict leaves a key out.
inline bool leaves_out(strict_verdict const& verdict, std::string_view key) {
    return std::ranges::binary_search(verdict.left_out, key);
}

/// The layout without the keys that a verdict leaves out.
inline layout without_left_out(layout held, strict_verdict const& verdict) {
    std::erase_if(held.tensors,
                  [&](tensor_layout const& tensor) { return leaves_out(verdict, tensor.key); });
    return held;
}

} // namespace reshard::detail

#endif
