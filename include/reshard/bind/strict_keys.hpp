// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_STRICT_KEYS_HPP
#define RESHARD_BIND_STRICT_KEYS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/strictness.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The mapping of a call: its program, fitted to the target as the options say.

namespace reshard::detail {

/// The keys of tensors, outputs or entries, in their order.
std::vector<std::string> keys_of(auto const& tensors) {
    std::vector<std::string> keys;
    for (auto const& tensor : tensors)
        keys.push_back(tensor.key);
    return keys;
}

/// Judges the keys of a target by those that exist.
///
/// \throws error with errc::unknown_key where the mode says so
inline strict_verdict judge_keys(strictness mode, std::vector<std::string> wanted,
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

/// A layout without the tensors that a verdict leaves out.
inline layout without_left_out(layout target, strict_verdict const& verdict) {
    std::erase_if(target.tensors,
                  [&](tensor_layout const& tensor) { return leaves_out(verdict, tensor.key); });
    return target;
}

/// The mapping that fills `target`, and what `how.strict` says of its keys: tensors that it leaves
/// out keep their content.
///
/// \param  program nothing: by name
/// \throws error as `by_name` and `fit_shapes`; errc::unknown_key where `how.strict` says so
inline std::pair<mapping, strict_verdict> fitted_program(std::optional<mapping> program,
                                                         catalog const& source,
                                                         layout const& target, options const& how) {
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
