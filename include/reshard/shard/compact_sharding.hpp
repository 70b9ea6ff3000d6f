// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SHARD_COMPACT_SHARDING_HPP
#define RESHARD_SHARD_COMPACT_SHARDING_HPP

#include <reshard/shard/compact_layout.hpp>
#include <reshard/shard/shards_of.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Compact layouts of tensors whose placements are known.

namespace reshard {

namespace detail {

/// A grid where the tensor is one part that is not cut flat, a table otherwise.
inline tensor_spread spread_of(tensor_sharding const& tensor) {
    if (tensor.parts.size() == 1 && !tensor.parts[0].flat)
        return {tensor.shape, shard_grid(tensor.parts[0].how)};
    return {tensor.shape, tensor_layout_of(tensor).shards};
}

} // namespace detail

/// The layout of these tensors.
///
/// \throws error with errc::bad_layout for a key that stands twice, or a sharding that contradicts
///         itself
inline compact_layout compact_layout_of(std::vector<tensor_sharding> tensors) {
    std::sort(tensors.begin(), tensors.end(),
              [](tensor_sharding const& a, tensor_sharding const& b) { return a.key < b.key; });
    compact_layout result;
    detail::spread_numbers numbers(result.spreads);
    for (tensor_sharding& one : tensors) {
        check(one);
        if (!result.tensors.empty() && result.tensors.back().key == one.key)
            fail(errc::bad_layout, "'" + one.key + "' of shape " + to_string(one.shape) +
                                       " stands twice in one layout; give each tensor once");
        if (!one.parts.empty())
            result.holders = std::max(result.holders, one.parts[0].how.ranks().rank_count());
        std::uint32_t const number = numbers.number_of(detail::spread_of(one));
        result.tensors.push_back({std::move(one.key), one.dtype, number});
    }
    return result;
}

} // namespace reshard

#endif
