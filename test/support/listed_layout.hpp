// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_LISTED_LAYOUT_HPP
#define RESHARD_TEST_SUPPORT_LISTED_LAYOUT_HPP

#include <reshard/layout/layout.hpp>

#include <string>
#include <utility>
#include <vector>

/// \file
/// Layouts from tensors whose shards a test writes down.

namespace reshard::test {

/// A tensor and its shards.
struct listed_tensor {
    std::string key;
    data_type dtype{};
    index_vector shape; ///< global
    detail::shard_table shards;
};

/// \pre `tensors` is sorted by key
inline layout listed_layout(holder_t holders, std::vector<listed_tensor> tensors) {
    detail::layout_builder builder(holders);
    for (listed_tensor& tensor : tensors)
        builder.add(std::move(tensor.key), tensor.dtype, {tensor.shape, std::move(tensor.shards)});
    return std::move(builder).take();
}

/// The shards of tensor number `i`, in the order of the layout.
inline detail::shard_table shards_listed(layout const& layout, std::size_t i) {
    return detail::listed(layout.spread_of(layout.tensors[i]));
}

} // namespace reshard::test

#endif
