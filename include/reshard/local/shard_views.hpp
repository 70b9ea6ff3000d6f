// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LOCAL_SHARD_VIEWS_HPP
#define RESHARD_LOCAL_SHARD_VIEWS_HPP

#include <reshard/shard/layout.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <utility>

/// \file
/// Which tensor in memory is which shard of a layout.

namespace reshard {

/// The tensors of the holders that this process plays, found by shard.
///
/// Refers to the layout, which must live as long, and to the tensors' memory.
template <class View>
class shard_views {
public:
    /// Takes the tensors of `holder`: each is the shard of `whole` with its key and region.
    ///
    /// \throws error with errc::bad_layout for a tensor that is no shard of `holder` in `whole`
    void add(basic_state_dict<View> const& held, layout const& whole, holder_t holder) {
        for (auto const& local : held)
            views_.emplace(place_of(local.descriptor, whole, holder), local.tensor);
    }

    /// Takes the tensor of shard number `shard` of `table`.
    ///
    /// \pre `shard < table.size()`, and the table lives as long as this
    void add(shard_table const& table, std::uint32_t shard, View const& tensor) {
        views_.emplace(place{&table, shard}, tensor);
    }

    /// \pre the shard was added
    View const& at(shard_table const& table, std::uint32_t shard) const {
        auto const found = views_.find({&table, shard});
        BOOST_ASSERT(found != views_.end());
        return found->second;
    }

private:
    using place = std::pair<shard_table const*, std::uint32_t>;

    /// Shards of a holder mostly come in the layout's order: each is sought behind the last one
    /// found.
    place place_of(shard_descriptor const& shard, layout const& whole, holder_t holder) {
        if (tensor_layout const* const tensor = whole.find(shard.key)) {
            shard_table const& table = tensor->shards;
            std::size_t const first = last_.first == &table ? last_.second + std::size_t{1} : 0;
            for (std::size_t step = 0; step < table.size(); ++step) {
                std::size_t const i = (first + step) % table.size();
                if (table.holder(i) == holder && table.region(i) == shard.region &&
                    table.flat(i) == shard.flat &&
                    !views_.contains({&table, static_cast<std::uint32_t>(i)}))
                    return last_ = {&table, static_cast<std::uint32_t>(i)};
            }
        }
        fail(errc::bad_layout, "rank " + std::to_string(holder) + " holds " + to_string(shard) +
                                   ", which the layout does not give it");
    }

    place last_ = {nullptr, 0};
    boost::unordered_flat_map<place, View> views_;
};

} // namespace reshard

#endif
