// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_STRICT_KEYS_HPP
#define RESHARD_BIND_STRICT_KEYS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/fit_shapes.hpp>
#include <reshard/layout/compact_layout.hpp>
#include <reshard/layout/strictness.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The mapping of a call: its program, fitted to the target as the options say.

namespace reshard::detail {

RESHARD_DECL std::vector<std::string> keys_of(mapping const& program);
RESHARD_DECL std::vector<std::string> keys_of(catalog const& tensors);

/// Judges the keys of a target by those that exist.
///
/// \throws error with errc::unknown_key where the mode says so
RESHARD_DECL strict_verdict judge_keys(strictness mode, std::vector<std::string> wanted,
                                       std::vector<std::string> available);

/// Whether a verdict leaves a key out.
RESHARD_DECL bool leaves_out(strict_verdict const& verdict, std::string_view key);

/// A layout without the tensors that a verdict leaves out.
template <class Layout>
Layout without_left_out(Layout target, strict_verdict const& verdict) {
    std::erase_if(target.tensors,
                  [&](auto const& tensor) { return leaves_out(verdict, tensor.key); });
    return target;
}

template <class Layout>
std::vector<std::string> keys_of(Layout const& target) {
    std::vector<std::string> keys;
    for (auto const& tensor : target.tensors)
        keys.push_back(tensor.key);
    return keys;
}

/// The mapping that fills `target`, and what `how.strict` says of its keys: tensors that it leaves
/// out keep their content.
///
/// \param  program nothing: by name
/// \throws error as `by_name` and `fit_shapes`; errc::unknown_key where `how.strict` says so
template <class Layout>
std::pair<mapping, strict_verdict> fitted_program(std::optional<mapping> program,
                                                  catalog const& source, Layout const& target,
                                                  options const& how) {
    strict_verdict verdict;
    if (how.strict)
        verdict =
            judge_keys(*how.strict, keys_of(target), program ? keys_of(*program) : keys_of(source));
    mapping filled = program ? std::move(*program)
                     : verdict.left_out.empty()
                         ? by_name(source, target)
                         : by_name(source, without_left_out(target, verdict));
    for (std::string const& key : verdict.left_out) {
        auto const tensor = held_in(target, *find_tensor(target.tensors, key));
        filled.add(key, tensor.shape, tensor.dtype);
    }
    return {fit_shapes(std::move(filled), target, how.shape_mismatch), std::move(verdict)};
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/strict_keys.ipp>
#endif

#endif
