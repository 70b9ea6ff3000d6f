// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_STRICT_KEYS_IPP
#define RESHARD_BIND_IMPL_STRICT_KEYS_IPP

#include <reshard/bind/strict_keys.hpp>

#include <algorithm>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::vector<std::string> keys_of(mapping const& program) {
    std::vector<std::string> keys;
    for (mapping_output const& output : program.outputs())
        keys.push_back(output.key);
    return keys;
}

RESHARD_DECL std::vector<std::string> keys_of(catalog const& tensors) {
    std::vector<std::string> keys;
    for (catalog_entry const& entry : tensors)
        keys.push_back(entry.key);
    return keys;
}

RESHARD_DECL strict_verdict judge_keys(strictness mode, std::vector<std::string> wanted,
                                       std::vector<std::string> available) {
    if (mode == strictness::assume_ok_unexpected)
        return {};
    strict_verdict verdict = judge(mode, compare_keys(std::move(wanted), std::move(available)));
    raise(verdict);
    return verdict;
}

RESHARD_DECL bool leaves_out(strict_verdict const& verdict, std::string_view key) {
    return std::ranges::binary_search(verdict.left_out, key);
}

} // namespace reshard::detail

#endif
