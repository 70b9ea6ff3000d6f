// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_STRICT_KEYS_HPP
#define RESHARD_BIND_STRICT_KEYS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/strictness.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The mapping of a call: its program, fitted to the target as the options say.

namespace reshard::detail {

/// The keys of tensors, outputs or entries, in their order.
template <class List>
std::vector<std::string> keys_of(List const& tensors) {
    std::vector<std::string> keys;
    for (auto const& tensor : tensors)
        keys.push_back(tensor.key);
    return keys;
}

/// Judges the keys of a target by those that exist.
///
/// \throws error with errc::unknown_key where the mode says so
RESHARD_DECL strict_verdict judge_keys(strictness mode, std::vector<std::string> wanted,
                                       std::vector<std::string> available);

/// A layout without the tensors that a verdict leaves out.
RESHARD_DECL layout without_left_out(layout target, strict_verdict const& verdict);

/// The mapping that fills `target`, and what `how.strict` says of its keys: tensors that it leaves
/// out keep their content.
///
/// \param  program nothing: by name
/// \throws error as `by_name` and `fit_shapes`; errc::unknown_key where `how.strict` says so
RESHARD_DECL std::pair<mapping, strict_verdict> fitted_program(std::optional<mapping> program,
                                                               catalog const& source,
                                                               layout const& target,
                                                               options const& how);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/strict_keys.ipp>
#endif

#endif
