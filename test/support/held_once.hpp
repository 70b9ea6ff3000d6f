// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_HELD_ONCE_HPP
#define RESHARD_TEST_SUPPORT_HELD_ONCE_HPP

#include <reshard/layout/shards_of.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

/// \file
/// The law of every layout: main copies hold each element exactly once.

namespace reshard::test {

using namespace reshard::detail;

/// The row-major numbers of the elements of a box, by counting.
inline std::vector<index_t> elements_of(box const& part, index_vector const& shape) {
    std::vector<index_t> matches;
    for (index_t i = 0; i < element_count(shape); ++i)
        if (intersect(part, {unravel_index(i, shape), index_vector::filled(shape.size(), 1)}))
            matches.push_back(i);
    return matches;
}

/// Whether the main copies hold each element of a tensor exactly once.
inline bool is_held_once(tensor_sharding const& tensor) {
    std::vector<int> times(static_cast<std::size_t>(element_count(tensor.shape)));
    for_each_holder(tensor, whole(tensor.shape), copies::main,
                    [&](holder_t, box const& region, std::optional<flat_range> const& flat) {
                        for (box const& part : boxes_of(region, flat))
                            for (index_t const i : elements_of(part, tensor.shape))
                                ++times[static_cast<std::size_t>(i)];
                    });
    return std::count(times.begin(), times.end(), 1) == element_count(tensor.shape);
}

/// Whether, for each element, the holders found from its box are the ranks that say they hold it.
inline bool is_inverse(tensor_sharding const& tensor) {
    std::vector<std::vector<holder_t>> said(static_cast<std::size_t>(element_count(tensor.shape)));
    for (holder_t rank = 0; rank < tensor.parts.front().spread.ranks().rank_count(); ++rank)
        for (shard_descriptor const& shard : shards_of(tensor, rank))
            for (box const& part : boxes_of(shard.region, shard.flat))
                for (index_t const i : elements_of(part, tensor.shape))
                    said[static_cast<std::size_t>(i)].push_back(rank);
    for (index_t i = 0; i < element_count(tensor.shape); ++i) {
        box const box{unravel_index(i, tensor.shape), index_vector::filled(tensor.shape.size(), 1)};
        if (holders_of(tensor, box) != said[static_cast<std::size_t>(i)])
            return false;
    }
    return true;
}

} // namespace reshard::test

#endif
