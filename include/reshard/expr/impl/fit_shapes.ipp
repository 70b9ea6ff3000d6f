// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_FIT_SHAPES_IPP
#define RESHARD_EXPR_IMPL_FIT_SHAPES_IPP

#include <reshard/expr/fit_shapes.hpp>

#include <reshard/core/key_index.hpp>
#include <reshard/expr/slice.hpp>
#include <reshard/layout/key_pattern.hpp>

#include <algorithm>
#include <cstddef>

namespace reshard::detail {

/// Notes which patterns match, and whether one does.
inline bool note_matches(std::vector<key_pattern> const& patterns, std::string const& key,
                         std::vector<bool>& used) {
    bool matches = false;
    for (std::size_t i = 0; i < patterns.size(); ++i)
        if (patterns[i].matches(key))
            matches = used[i] = true;
    return matches;
}

RESHARD_DECL mapping fit_shapes(mapping program, layout const& target,
                                std::vector<std::string> const& allowed) {
    if (allowed.empty())
        return program;
    std::vector<key_pattern> const patterns(allowed.begin(), allowed.end());
    std::vector<bool> used(patterns.size());
    for (tensor_layout const& tensor : target.tensors) {
        if (!note_matches(patterns, tensor.key, used))
            continue;
        index_vector const& wanted = target.shape_of(tensor);
        mapping_output const* const output = program.find(tensor.key);
        if (output && !output->added && output->value.shape != wanted &&
            output->value.ndim() == wanted.size())
            program.define(tensor.key, resize(output->value, wanted));
    }
    auto const unused = std::find(used.begin(), used.end(), false);
    if (unused != used.end()) {
        std::string const& text = allowed[static_cast<std::size_t>(unused - used.begin())];
        fail(errc::unknown_key, "options.shape_mismatch: '" + text + "' matches none of the " +
                                    std::to_string(target.tensors.size()) + " keys of the target" +
                                    did_you_mean_key(text, target.tensors, &tensor_layout::key));
    }
    return program;
}

} // namespace reshard::detail

#endif
