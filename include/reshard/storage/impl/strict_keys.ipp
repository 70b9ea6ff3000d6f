// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_STRICT_KEYS_IPP
#define RESHARD_STORAGE_IMPL_STRICT_KEYS_IPP

#include <reshard/storage/strict_keys.hpp>

#include <algorithm>
#include <utility>

namespace reshard {

namespace detail {

RESHARD_DECL std::vector<std::string> keys_of(layout const& held) {
    std::vector<std::string> keys;
    for (tensor_layout const& tensor : held.tensors)
        keys.push_back(tensor.key);
    return keys;
}

RESHARD_DECL std::vector<std::string> keys_of(mapping const& program) {
    std::vector<std::string> keys;
    for (mapping_output const& output : program.outputs())
        keys.push_back(output.key);
    return keys;
}

RESHARD_DECL strict_verdict judge_keys(strictness mode, layout const& wanted,
                                       std::vector<std::string> available) {
    if (mode == strictness::assume_ok_unexpected)
        return {};
    strict_verdict verdict = judge(mode, compare_keys(keys_of(wanted), std::move(available)));
    raise(verdict);
    return verdict;
}

RESHARD_DECL bool leaves_out(strict_verdict const& verdict, std::string_view key) {
    return std::ranges::binary_search(verdict.left_out, key);
}

RESHARD_DECL layout without_left_out(layout held, strict_verdict const& verdict) {
    std::erase_if(held.tensors,
                  [&](tensor_layout const& tensor) { return leaves_out(verdict, tensor.key); });
    return held;
}

} // namespace detail

} // namespace reshard

#endif
