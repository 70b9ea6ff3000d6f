// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_MAIN_COPIES_HPP
#define RESHARD_LAYOUT_MAIN_COPIES_HPP

#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Each different shard once: what is written to a disk.

namespace reshard::detail {

/// `table` with a box in the place of each flat range that is one.
constexpr shard_table with_boxes(shard_table const& table) {
    if (table.all_boxes())
        return table;
    shard_table result(table.ndim());
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        auto const boxes = boxes_of(table.region(i), table.flat(i));
        if (boxes.size() == 1)
            result.push_back(table.holder(i), boxes.front(), {}, table.cycles(i));
        else
            result.push_back(table.holder(i), table.region(i), table.flat(i));
    }
    return result;
}

/// The places in `shards` of the main copies: of equal shards the one of the lowest holder,
/// ascending.
///
/// A flat range that is a box counts as that box. Shards without elements are left out, unless the
/// table has no others: then one stands for the tensor.
constexpr std::vector<std::uint32_t> main_copies(shard_table const& shards) {
    shard_table const table = with_boxes(shards);
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < table.size(); ++i)
        if (!is_empty(table.region(i)) && (!table.flat(i) || table.flat(i)->size() > 0))
            order.push_back(i);
    if (order.empty() && table.size() > 0)
        order.push_back(0);
    auto const same = [&](std::uint32_t a, std::uint32_t b) {
        return table.region(a) == table.region(b) && table.flat(a) == table.flat(b) &&
               table.cycles(a) == table.cycles(b);
    };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (!same(a, b))
            return std::tuple{table.region(a), table.flat(a), table.cycles(a)} <
                   std::tuple{table.region(b), table.flat(b), table.cycles(b)};
        return std::pair{table.holder(a), a} < std::pair{table.holder(b), b};
    });
    order.erase(std::unique(order.begin(), order.end(), same), order.end());
    std::sort(order.begin(), order.end());
    return order;
}

} // namespace reshard::detail

#endif
