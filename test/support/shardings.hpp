// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_SHARDINGS_HPP
#define RESHARD_TEST_SUPPORT_SHARDINGS_HPP

#include "support/placements.hpp"

#include <reshard/layout/sharding.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Random tensors that are spread in parts, some of them cut flat.

namespace reshard::test {

using namespace reshard::detail;

/// Slices for the ranks along some of the axes that replicate, perhaps none.
inline std::optional<flat_sharing> any_sharing(oracle::random_numbers& random,
                                               distribution const& distribution) {
    flat_sharing flat;
    index_t count = 1;
    for (std::size_t i = 0; i < distribution.ranks().ndim(); ++i)
        if (distribution.placements()[i].type == placement::kind::replicate && random.chance(70)) {
            flat.axes = static_cast<axis_set>(flat.axes | 1u << i);
            count *= distribution.ranks().all_axes[i].extent;
        }
    if (random.chance(50))
        return flat;
    index_t const elements = element_count(detail::largest_region(distribution));
    index_t const begin = random.between(0, 5);
    flat.slices = flat_slices{begin, (begin + elements + count - 1) / count + random.between(0, 3)};
    return flat;
}

/// A tensor of one part, or of two that lie side by side.
inline tensor_sharding any_sharding_of(oracle::random_numbers& random, std::string key,
                                       mesh const& ranks, index_vector const& shape) {
    tensor_sharding sharding{std::move(key), data_type::f32, shape, {}};
    bool const is_fused = shape.size() > 0 && random.chance(40);
    std::size_t const axis =
        is_fused ? static_cast<std::size_t>(random.below(static_cast<index_t>(shape.size()))) : 0;
    index_t const cut = is_fused ? random.between(0, shape[axis]) : 0;
    for (bool const second : {false, true}) {
        if (second && !is_fused)
            break;
        index_vector offset = index_vector::filled(shape.size(), 0), part = shape;
        if (is_fused) {
            offset[axis] = second ? cut : 0;
            part[axis] = second ? shape[axis] - cut : cut;
        }
        distribution distribution =
            any_placement_of(random, any_ranks_on(random, ranks, ranks.rank_count() + 1), part);
        bool const is_cyclic =
            std::ranges::any_of(distribution.placements(), [](placement const& placement) {
                return placement.type == placement::kind::cyclic;
            });
        auto flat =
            !is_cyclic && random.chance(60) ? any_sharing(random, distribution) : std::nullopt;
        sharding.parts.push_back({offset, std::move(distribution), flat});
    }
    return sharding;
}

} // namespace reshard::test

#endif
