// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_FIT_SHAPES_HPP
#define RESHARD_EXPR_FIT_SHAPES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/expr/slice.hpp>
#include <reshard/layout/compact_layout.hpp>
#include <reshard/layout/key_pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

/// \file
/// Tensors whose shapes may differ on the two sides, as that of a padded vocabulary does.

namespace reshard::detail {

/// Notes which patterns match, and whether one does.
RESHARD_DECL bool note_matches(std::vector<key_pattern> const& patterns, std::string const& key,
                               std::vector<bool>& used);

/// The program whose outputs have the shapes of `target` where a pattern of keys allows it: each
/// axis is cropped, or extended with zeros, at its tail.
///
/// Outputs whose shapes have another number of axes, and those that no pattern matches, stay as
/// they are.
///
/// \tparam     Layout `layout` or `compact_layout`
/// \throws     error with errc::unknown_key for a pattern that matches no key of `target`
/// \par Source `allow_shape_mismatch` of Megatron-Core, which pads and crops vocabularies
template <class Layout>
mapping fit_shapes(mapping program, Layout const& target, std::vector<std::string> const& allowed) {
    if (allowed.empty())
        return program;
    std::vector<key_pattern> const patterns(allowed.begin(), allowed.end());
    std::vector<bool> used(patterns.size());
    for (auto const& tensor : target.tensors) {
        if (!note_matches(patterns, tensor.key, used))
            continue;
        index_vector const& wanted = held_in(target, tensor).shape;
        mapping_output const* const output = program.find(tensor.key);
        if (output && !output->added && output->value.shape != wanted &&
            output->value.ndim() == wanted.size())
            program.define(tensor.key, resize(output->value, wanted));
    }
    auto const unused = std::find(used.begin(), used.end(), false);
    if (unused != used.end()) {
        std::string const& text = allowed[static_cast<std::size_t>(unused - used.begin())];
        fail(errc::unknown_key,
             "options.shape_mismatch: '" + text + "' matches none of the " +
                 std::to_string(target.tensors.size()) + " keys of the target" +
                 did_you_mean_key(text, target.tensors,
                                  [](auto const& tensor) -> auto const& { return tensor.key; }));
    }
    return program;
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/fit_shapes.ipp>
#endif

#endif
