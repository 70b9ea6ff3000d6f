// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_SHARD_VIEWS_HPP
#define RESHARD_BIND_SHARD_VIEWS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// Finds the tensor in memory for each shard of a layout.

namespace reshard::detail {

/// The tensors of the holders that this process plays, found by shard.
///
/// A shard is a number of a tensor in its layout, and one among the shards of that tensor. Refers
/// to the tensors' memory.
template <class View>
class shard_views {
public:
    /// Takes the tensors of `holder`: each is the shard of `layout` with its key and region.
    /// Tensors without elements may be anywhere, or missing.
    ///
    /// \throws error with errc::bad_layout for a tensor that is not a shard of `holder` in `layout`
    void add(basic_state_dict<View> const& tensors, layout const& layout, holder_t holder) {
        for (auto const& local : tensors)
            if (element_count(local_shape(local.descriptor)) > 0)
                put(place_of(local.descriptor, layout, holder), local.tensor);
    }

    /// Takes the tensor of shard number `shard` of tensor number `tensor`.
    void add(std::uint32_t tensor, std::uint32_t shard, View const& view) {
        put({tensor, shard}, view);
    }

    /// Adds a shard without memory, stored row-major: shards of one shape share a view.
    void add_shape(std::uint32_t tensor, std::uint32_t shard, data_type dtype,
                   index_vector const& shape) {
        hasher digest;
        digest.add(static_cast<std::uint64_t>(dtype));
        digest.add(shape);
        auto const [first, last] = shapes_.equal_range(digest.value());
        auto const match = std::find_if(first, last, [&](auto const& element) {
            return views_[element.second].dtype == dtype && views_[element.second].shape == shape;
        });
        auto number = static_cast<std::uint32_t>(views_.size());
        if (match != last)
            number = match->second;
        else {
            shapes_.emplace(digest.value(), number);
            views_.push_back(View{nullptr, dtype, shape, row_major_strides(shape)});
        }
        numbers_.emplace(place{tensor, shard}, number);
    }

    /// Makes room for more shards without memory.
    void reserve_shapes(std::size_t shards) { numbers_.reserve(numbers_.size() + shards); }

    bool contains(std::uint32_t tensor, std::uint32_t shard) const {
        return numbers_.contains({tensor, shard});
    }

    /// \pre the shard was added
    View const& at(std::uint32_t tensor, std::uint32_t shard) const {
        auto const match = numbers_.find({tensor, shard});
        BOOST_ASSERT(match != numbers_.end());
        return views_[match->second];
    }

private:
    using place = std::pair<std::uint32_t, std::uint32_t>;

    /// The first view of a shard counts.
    void put(place where, View const& view) {
        if (numbers_.emplace(where, static_cast<std::uint32_t>(views_.size())).second)
            views_.push_back(view);
    }

    place place_of(shard_descriptor const& shard, layout const& layout, holder_t holder) {
        tensor_layout const* const tensor_layout = layout.find(shard.key);
        if (tensor_layout && layout.shape_of(*tensor_layout) == shard.global_shape &&
            tensor_layout->dtype == shard.dtype) {
            auto const tensor = static_cast<std::uint32_t>(tensor_layout - layout.tensors.data());
            if (auto const number =
                    find_shard(shard, tensor, layout.shards_of(*tensor_layout), holder))
                return {tensor, *number};
        }
        fail(errc::bad_layout, "rank ", holder, " holds ", shard,
             ", which the layout does not assign to it");
    }

    std::optional<std::uint32_t> find_shard(shard_descriptor const& shard, std::uint32_t tensor,
                                            tensor_shards const& shards, holder_t holder) {
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

    std::uint32_t last_ = 0; ///< mostly the next tensor has its shard at the same place of its list
    boost::unordered_flat_map<place, std::uint32_t> numbers_; ///< of views
    std::vector<View> views_;
    std::multimap<std::uint64_t, std::uint32_t> shapes_; ///< views without memory, by digest
};

/// The shards of a holder that have elements.
RESHARD_DECL std::vector<std::uint32_t> shards_held(tensor_shards const& shards, holder_t holder);

/// Refuses tensors if a shard that `layout` gives to `holder` is missing. A shard without elements
/// may be missing.
///
/// Looks at each way of spreading once.
///
/// \throws error with errc::bad_layout that names the shard
template <class View>
void check_complete(shard_views<View> const& views, layout const& layout, holder_t holder) {
    std::vector<std::optional<std::vector<std::uint32_t>>> held(layout.spreads.size());
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

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/shard_views.ipp>
#endif

#endif
