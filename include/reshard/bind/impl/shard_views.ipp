// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_SHARD_VIEWS_IPP
#define RESHARD_BIND_IMPL_SHARD_VIEWS_IPP

#include <reshard/bind/shard_views.hpp>

#include <boost/assert.hpp>

namespace reshard::detail {

RESHARD_DECL bool shard_numbers::put(shard_key where, std::size_t number) {
    std::uint32_t const index =
        table_.number(digest_of_all(where.tensor, where.shard),
                      [&](std::uint32_t candidate) { return added_[candidate].where == where; });
    if (index < added_.size())
        return false;
    added_.push_back({where, static_cast<std::uint32_t>(number)});
    return true;
}

RESHARD_DECL std::uint32_t shard_numbers::index_of(shard_key where) const {
    return table_.find_number(
        digest_of_all(where.tensor, where.shard),
        [&](std::uint32_t candidate) { return added_[candidate].where == where; });
}

RESHARD_DECL std::uint32_t shard_numbers::number_at(shard_key where) const {
    std::uint32_t const index = index_of(where);
    BOOST_ASSERT(index != class_table::none);
    return added_[index].number;
}

RESHARD_DECL shard_numbers::shard_key shard_numbers::key_of(shard_descriptor const& shard,
                                                            layout const& layout, holder_t holder) {
    tensor_layout const* const tensor_layout = layout.find(shard.key);
    if (tensor_layout && layout.shape_of(*tensor_layout) == shard.global_shape &&
        tensor_layout->dtype == shard.dtype) {
        auto const tensor = static_cast<std::uint32_t>(tensor_layout - layout.tensors.data());
        if (auto const number = find_shard(shard, tensor, layout.shards_of(*tensor_layout), holder))
            return {tensor, *number};
    }
    fail(errc::bad_layout, "rank ", holder, " holds ", shard,
         ", which the layout does not assign to it");
}

RESHARD_DECL std::optional<std::uint32_t> shard_numbers::find_shard(shard_descriptor const& shard,
                                                                    std::uint32_t tensor,
                                                                    tensor_shards const& shards,
                                                                    holder_t holder) {
    auto const is_it = [&](std::uint32_t i) {
        return shards.region(i) == shard.region && shards.flat(i) == shard.flat &&
               shards.cycles(i) == shard.cycles && !contains(tensor, i);
    };
    if (!shards.table()) {
        std::optional<std::uint32_t> number;
        shards.for_each_of(holder, [&](std::uint32_t i) {
            if (!number && is_it(i))
                number = i;
        });
        return number;
    }
    auto const count = static_cast<std::uint32_t>(shards.size());
    for (std::uint32_t step = 0; step < count; ++step) {
        std::uint32_t const i = (last_ + step) % count;
        if (shards.holder(i) == holder && is_it(i))
            return last_ = i;
    }
    return std::nullopt;
}

RESHARD_DECL vector<std::uint32_t> shards_held(tensor_shards const& shards, holder_t holder) {
    vector<std::uint32_t> indices;
    shards.for_each_of(holder, [&](std::uint32_t shard) {
        auto const flat = shards.flat(shard);
        if (flat ? flat->size() > 0 : !is_empty(shards.region(shard)))
            indices.push_back(shard);
    });
    return indices;
}

RESHARD_DECL void check_complete(shard_numbers const& views, layout const& layout,
                                 holder_t holder) {
    vector<std::optional<vector<std::uint32_t>>> held(layout.spreads.size());
    for (std::uint32_t t = 0; t < layout.tensors.size(); ++t) {
        tensor_layout const& tensor = layout.tensors[t];
        tensor_spread const& spread = layout.spread_of(tensor);
        auto& shards = held[tensor.spread];
        if (!shards)
            shards = shards_held(spread.view(), holder);
        for (std::uint32_t const i : *shards)
            if (!views.contains(t, i))
                fail(errc::bad_layout, "rank ", holder, " holds no tensor for ",
                     shard_descriptor{tensor.key, tensor.dtype, spread.shape,
                                      spread.view().region(i), spread.view().flat(i),
                                      spread.view().cycles(i)},
                     ", which the layout assigns to it; add it to the state dict");
    }
}

} // namespace reshard::detail

#endif
