// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_REPLICA_HPP
#define RESHARD_LAYOUT_REPLICA_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/distribution.hpp>
#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

/// \file
/// Which copy of a shard is the main copy: computes replica numbers, or checks given ones.

namespace reshard {

namespace detail {

/// Returns `table` with each flat range that is a box replaced by that box.
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

/// Equal shards: their indices in a list. The lowest holder is first.
using equal_shards = vector<std::uint32_t>;

/// The distinct shards of a list, each with all its replicas, in the order of their first replicas.
///
/// A flat range that is a box counts as that box. Shards without elements are omitted. If the table
/// has only such shards, the first of them represents the tensor.
constexpr vector<equal_shards> different_shards(shard_table const& shards) {
    shard_table const table = with_boxes(shards);
    vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < table.size(); ++i)
        if (!is_empty(table.region(i)) && (!table.flat(i) || table.flat(i)->size() > 0))
            order.push_back(i);
    if (order.empty() && table.size() > 0)
        order.push_back(0);
    auto const same = [&](std::uint32_t a, std::uint32_t b) {
        return table.region(a) == table.region(b) && table.flat(a) == table.flat(b) &&
               table.cycles(a) == table.cycles(b);
    };
    sort_numbers(order, [&](std::uint32_t a, std::uint32_t b) {
        if (!same(a, b))
            return std::tuple{table.region(a), table.flat(a), table.cycles(a)} <
                   std::tuple{table.region(b), table.flat(b), table.cycles(b)};
        return table.holder(a) < table.holder(b);
    });
    vector<equal_shards> different;
    for (std::uint32_t const i : order)
        if (!different.empty() && same(different.back().front(), i))
            different.back().push_back(i);
        else
            different.push_back({i});
    sort_by(different, std::less<>());
    return different;
}

/// The indices in `shards` of the main copies, in ascending order. Among equal shards, the main
/// copy is the one with the lowest holder.
constexpr vector<std::uint32_t> main_copies(shard_table const& shards) {
    vector<std::uint32_t> copies;
    for (equal_shards const& replicas : different_shards(shards))
        copies.push_back(replicas.front());
    return copies;
}

} // namespace detail

/// Throws unless exactly one shard of each set of equal shards has replica number 0. That shard is
/// the main copy, and only the main copy is written.
///
/// Shards without elements have no main copy.
///
/// \pre    `tensor` is an element of `layout.tensors`, and `replicas` has one number for each of
///         its shards, in their order
/// \throws error with errc::bad_layout that names key, shard and the ranks that hold it
RESHARD_DECL void check(layout const& layout, tensor_layout const& tensor,
                        vector<index_t> const& replicas);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/replica.ipp>
#endif

#endif
