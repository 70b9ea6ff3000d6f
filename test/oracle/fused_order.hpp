// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_FUSED_ORDER_HPP
#define RESHARD_TEST_ORACLE_FUSED_ORDER_HPP

#include "array.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// In which order fused tensors have their pieces.

namespace reshard::oracle {

/// The places of `2 * n` pieces, of which gate is 0 to n - 1 and up is n to 2n - 1, in a tensor
/// that `ranks` ranks store: each its gate pieces, then its up pieces.
inline numbers ffn_order(std::int64_t ranks, std::int64_t n) {
    numbers order;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
        for (std::int64_t const half : {std::int64_t{0}, n})
            for (std::int64_t i = rank * n / ranks; i < (rank + 1) * n / ranks; ++i)
                order.push_back(half + i);
    return order;
}

/// The places of heads, of which the queries come first, then the keys, then the values, in a
/// tensor of `shares` shares: each has its queries, its keys, its values.
inline numbers qkv_order(std::int64_t shares, std::int64_t heads, std::int64_t groups) {
    numbers order;
    for (std::int64_t share = 0; share < shares; ++share)
        for (auto const& [first, count] :
             {std::pair{std::int64_t{0}, heads}, std::pair{heads, groups},
              std::pair{heads + groups, groups}})
            for (std::int64_t i = share * count / shares; i < (share + 1) * count / shares; ++i)
                order.push_back(first + i);
    return order;
}

/// The pieces of a tensor, equal along `axis`, from one order to another, dealt out to tensors of
/// several pieces.
inline std::vector<array> cut_anew(array const& whole_array, std::size_t axis,
                                   numbers const& stored, numbers const& wanted,
                                   numbers const& results) {
    std::vector<array> const cuts =
        cut_evenly(whole_array, axis, static_cast<std::int64_t>(stored.size()));
    std::vector<array> pieces(cuts.size());
    for (std::size_t i = 0; i < cuts.size(); ++i)
        pieces.at(static_cast<std::size_t>(stored[i])) = cuts[i];
    std::vector<array> arrays;
    std::size_t next = 0;
    for (std::int64_t const count : results) {
        std::vector<array> some;
        while (static_cast<std::int64_t>(some.size()) < count)
            some.push_back(pieces.at(static_cast<std::size_t>(wanted.at(next++))));
        arrays.push_back(joined(some, axis));
    }
    return arrays;
}

} // namespace reshard::oracle

#endif
