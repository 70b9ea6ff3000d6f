// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_LAYOUT_HPP
#define RESHARD_LAYOUT_LAYOUT_HPP

#include <reshard/layout/shard_table.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Who holds what of a whole state dict.

namespace reshard {

/// One tensor and all its shards.
struct tensor_layout {
    std::string key;
    data_type dtype{};
    index_vector shape; ///< global
    detail::shard_table shards;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.shape, self.shards);
    }

    constexpr bool operator==(tensor_layout const&) const = default;
};

namespace detail {

/// Shard `i` of a tensor as a descriptor of its own.
///
/// \pre `i < tensor.shards.size()`
constexpr shard_descriptor descriptor_of(tensor_layout const& tensor, std::size_t i) {
    return {tensor.key,
            tensor.dtype,
            tensor.shape,
            tensor.shards.region(i),
            tensor.shards.flat(i),
            tensor.shards.cycles(i)};
}

/// The place of a key among tensors that are sorted by key, or the end.
template <class Tensor>
constexpr auto find_tensor(std::vector<Tensor> const& tensors, std::string_view key) {
    auto const place = std::lower_bound(
        tensors.begin(), tensors.end(), key,
        [](Tensor const& tensor, std::string_view sought) { return tensor.key < sought; });
    return place != tensors.end() && place->key == key ? place : tensors.end();
}

} // namespace detail

/// All tensors of a state dict with all their shards.
///
/// \invariant `tensors` is sorted by key, each key once; every holder is less than `holders`
struct layout {
    holder_t holders = 0;
    std::vector<tensor_layout> tensors;

    /// The tensor of that key, or null.
    constexpr tensor_layout const* find(std::string_view key) const {
        auto const place = detail::find_tensor(tensors, key);
        return place != tensors.end() ? &*place : nullptr;
    }

    static constexpr void members(auto& self, auto&& visit) { visit(self.holders, self.tensors); }

    constexpr bool operator==(layout const&) const = default;
};

namespace detail {

template <>
inline constexpr stored_form form_of<layout>{"layout", 1};

/// Refuses a shard that is of another tensor, though of the same key; the message names both ranks.
constexpr void check_same_tensor(tensor_layout const& tensor, shard_descriptor const& shard,
                                 holder_t holder) {
    holder_t const other = tensor.shards.holder(0);
    if (tensor.shape != shard.global_shape)
        fail(errc::shape_mismatch,
             "'" + shard.key + "' has the global shape " + to_string(tensor.shape) + " on rank " +
                 std::to_string(other) + " and " + to_string(shard.global_shape) + " on rank " +
                 std::to_string(holder));
    if (tensor.dtype != shard.dtype)
        fail(errc::dtype_mismatch,
             "'" + shard.key + "' has the data type " + std::string(name(tensor.dtype)) +
                 " on rank " + std::to_string(other) + " and " + std::string(name(shard.dtype)) +
                 " on rank " + std::to_string(holder));
}

/// Refuses keys out of order, so also a key that stands twice.
constexpr void check_sorted(auto const& list) {
    for (std::size_t i = 1; i < list.size(); ++i)
        if (!(list[i - 1].key < list[i].key))
            fail(errc::bad_layout, "it has '" + list[i].key + "' behind '" + list[i - 1].key + "'");
}

/// Refuses a holder that there is not.
constexpr void check_holders(shard_table const& shards, std::string const& key, holder_t holders) {
    for (holder_t const holder : shards.holders())
        if (holder >= holders)
            fail(errc::bad_layout, "it has a shard of '" + key + "' on rank " +
                                       std::to_string(holder) + " of " + std::to_string(holders));
}

} // namespace detail

/// \throws error with errc::bad_layout or errc::overflow where there can be no such tensor, or
///         where shards are not parts of it
constexpr void validate(tensor_layout const& tensor) {
    detail::check_tensor(tensor.key, tensor.dtype, tensor.shape);
    if (tensor.shards.ndim() != tensor.shape.size())
        fail(errc::bad_layout, "it has shards of " + std::to_string(tensor.shards.ndim()) +
                                   " axes for '" + tensor.key + "', shape " +
                                   to_string(tensor.shape));
    for (std::size_t i = 0; i < tensor.shards.size(); ++i)
        check(detail::descriptor_of(tensor, i));
}

/// \throws error with errc::bad_layout where the invariant does not hold
constexpr void validate(layout const& all) {
    detail::check_sorted(all.tensors);
    for (tensor_layout const& tensor : all.tensors)
        detail::check_holders(tensor.shards, tensor.key, all.holders);
}

namespace detail {

/// The same layout with a shard for each block of those that are blocks.
constexpr layout with_blocks_listed(layout all) {
    for (tensor_layout& tensor : all.tensors) {
        if (tensor.shards.all_cycles().empty())
            continue;
        shard_table listed(tensor.shape.size());
        for (std::size_t i = 0; i < tensor.shards.size(); ++i)
            if (tensor.shards.cycles(i).empty())
                listed.push_back(tensor.shards[i]);
            else
                for (box const& block : tensor.shards.boxes(i))
                    listed.push_back(tensor.shards.holder(i), block);
        tensor.shards = std::move(listed);
    }
    return all;
}

} // namespace detail

/// The layout in which holder `i` holds the shards `held[i]`.
///
/// Within a tensor, shards stand in the order of their holders, and within a holder in the given
/// order.
///
/// \throws error with errc::bad_layout for a shard that contradicts itself (see `check`), with
///         errc::shape_mismatch or errc::dtype_mismatch for one key that is two tensors; it names
///         both ranks
constexpr layout layout_of(std::vector<std::vector<shard_descriptor>> const& held) {
    struct entry {
        shard_descriptor const* shard;
        holder_t holder;
    };
    std::vector<entry> entries;
    for (std::size_t holder = 0; holder < held.size(); ++holder)
        for (shard_descriptor const& shard : held[holder]) {
            check(shard);
            entries.push_back({&shard, static_cast<holder_t>(holder)});
        }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < entries.size(); ++i)
        order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        int const difference = entries[a].shard->key.compare(entries[b].shard->key);
        return difference != 0 ? difference < 0 : a < b;
    });
    layout result{static_cast<holder_t>(held.size()), {}};
    for (std::size_t const i : order) {
        shard_descriptor const& shard = *entries[i].shard;
        if (result.tensors.empty() || result.tensors.back().key != shard.key)
            result.tensors.push_back({shard.key, shard.dtype, shard.global_shape,
                                      detail::shard_table(shard.global_shape.size())});
        else
            detail::check_same_tensor(result.tensors.back(), shard, entries[i].holder);
        result.tensors.back().shards.push_back(entries[i].holder, shard.region, shard.flat,
                                               shard.cycles);
    }
    return result;
}

} // namespace reshard

#endif
