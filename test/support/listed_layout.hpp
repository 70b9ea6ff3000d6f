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
    detail::layout_builder made(holders);
    for (listed_tensor& one : tensors)
        made.add(std::move(one.key), one.dtype, {one.shape, std::move(one.shards)});
    return std::move(made).take();
}

/// The shards of tensor number `i`, in the order of the layout.
inline detail::shard_table shards_listed(layout const& all, std::size_t i) {
    return detail::listed(all.spread_of(all.tensors[i]));
}

} // namespace reshard::test

#endif
