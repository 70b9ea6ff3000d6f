// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_MODEL_PART_HPP
#define RESHARD_MODEL_MODEL_PART_HPP

#include <reshard/model/parallel_tensor.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Layers in layers: each says what it has, and the names of those around it come before.

namespace reshard {

/// A part of a model: its tensors, by their names in it, and the parts that are in it.
struct model_part {
    std::string name = {}; ///< in the part around it; one without a name changes no key
    std::vector<parallel_tensor> tensors = {};
    std::vector<model_part> parts = {};
};

namespace detail {

/// Appends what a part has, its own tensors first.
inline void append_tensors(model_part const& part, std::string const& before, int depth,
                           std::vector<parallel_tensor>& all) {
    constexpr int deepest = 64;
    if (depth > deepest)
        fail(errc::limit_exceeded, "more than " + std::to_string(deepest) +
                                       " parts of a model stand in one another at '" + before +
                                       part.name + "'");
    std::string const prefix = part.name.empty() ? before : before + part.name + ".";
    for (parallel_tensor const& tensor : part.tensors) {
        all.push_back(tensor);
        all.back().key = prefix + tensor.key;
    }
    for (model_part const& inner : part.parts)
        append_tensors(inner, prefix, depth + 1, all);
}

/// \throws error with errc::bad_layout for a key that stands twice
inline void check_keys(std::vector<parallel_tensor> const& tensors) {
    std::vector<std::string_view> keys;
    for (parallel_tensor const& tensor : tensors)
        keys.push_back(tensor.key);
    std::sort(keys.begin(), keys.end());
    auto const twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end())
        fail(errc::bad_layout, "two parts of the model have a tensor '" + std::string(*twice) +
                                   "'; parts beside one another need different names");
}

} // namespace detail

/// The tensors of a part and of all parts within, in order: the names of the parts stand before theirs, with dots
/// between, and `prefix` before all.
///
/// \throws     error with errc::bad_layout where two get one key, with errc::limit_exceeded for more than 64 parts
///             in one another
/// \par Source `sharded_state_dict(prefix)` of PaddlePaddle's layers, which recurses; there a layer that overrides it
///             may forget its children, here a part is a value and has nothing to override
inline std::vector<parallel_tensor> tensors_of(model_part const& whole,
                                               std::string const& prefix = {}) {
    std::vector<parallel_tensor> all;
    detail::append_tensors(whole, prefix, 1, all);
    detail::check_keys(all);
    return all;
}

} // namespace reshard

#endif
