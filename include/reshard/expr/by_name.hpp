// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_BY_NAME_HPP
#define RESHARD_EXPR_BY_NAME_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/strictness.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The mapping of a call: its program, or the default one in which every target tensor is the source
/// tensor of the same name, fitted to the target as the options say.

namespace reshard::detail {

/// The program whose outputs have the shapes of `target` where a pattern of keys allows it: each
/// axis is cropped, or extended with zeros, at its tail.
///
/// Outputs whose shapes have another number of axes, and those that no pattern matches, stay as
/// they are.
///
/// \throws     error with errc::unknown_key for a pattern that matches no key of `target`
/// \par Source `allow_shape_mismatch` of Megatron-Core, which pads and crops vocabularies
RESHARD_DECL mapping fit_shapes(mapping program, layout const& target,
                                std::vector<std::string> const& allowed);

/// `wanted by rank 2`, for the first rank that has a shard of the tensor.
RESHARD_DECL std::string wanted_by_rank(tensor_shards const& shards);

/// The mapping in which every key that the ranks of `target` hold is the source tensor of that
/// name.
///
/// \throws error with errc::unknown_key when `source` does not have a key, naming a rank that wants
///         it
RESHARD_DECL mapping by_name(catalog const& source, layout const& target);

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

/// How a program is fitted to its target.
struct fit_rules {
    std::optional<strictness> strict; ///< as `options::strict`
    std::vector<std::string> const& shape_mismatch;
};

/// The mapping that fills `target`, and what is judged of its keys: tensors that are left out keep
/// their content.
///
/// \param  program nothing: by name
/// \throws error as `by_name` and `fit_shapes`; errc::unknown_key where `how.strict` says so
RESHARD_DECL std::pair<mapping, strict_verdict> fitted_program(std::optional<mapping> program,
                                                               catalog const& source,
                                                               layout const& target,
                                                               fit_rules const& how);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/by_name.ipp>
#endif

#endif
