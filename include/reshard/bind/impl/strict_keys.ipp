// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_STRICT_KEYS_IPP
#define RESHARD_BIND_IMPL_STRICT_KEYS_IPP

#include <reshard/bind/strict_keys.hpp>

#include <reshard/expr/by_name.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace reshard::detail {

RESHARD_DECL strict_verdict judge_keys(strictness mode, std::vector<std::string> wanted,
                                       std::vector<std::string> available) {
    if (mode == strictness::assume_ok_unexpected)
        return {};
    strict_verdict verdict = judge(mode, compare_keys(std::move(wanted), std::move(available)));
    raise(verdict);
    return verdict;
}

/// Whether a verdict leaves a key out.
inline bool leaves_out(strict_verdict const& verdict, std::string_view key) {
    return std::ranges::binary_search(verdict.left_out, key);
}

RESHARD_DECL layout without_left_out(layout target, strict_verdict const& verdict) {
    std::erase_if(target.tensors,
                  [&](tensor_layout const& tensor) { return leaves_out(verdict, tensor.key); });
    return target;
}

RESHARD_DECL std::pair<mapping, strict_verdict> fitted_program(std::optional<mapping> program,
                                                               catalog const& source,
                                                               layout const& target,
                                                               options const& how) {
    strict_verdict verdict;
    if (how.strict)
        verdict = judge_keys(*how.strict, keys_of(target.tensors),
                             program ? keys_of(program->outputs()) : keys_of(source));
    mapping filled = program ? std::move(*program)
                     : verdict.left_out.empty()
                         ? by_name(source, target)
                         : by_name(source, without_left_out(target, verdict));
    for (std::string const& key : verdict.left_out) {
        tensor_layout const& tensor = *target.find(key);
        filled.add(key, target.shape_of(tensor), tensor.dtype);
    }
    return {fit_shapes(std::move(filled), target, how.shape_mismatch), std::move(verdict)};
}

} // namespace reshard::detail

#endif
