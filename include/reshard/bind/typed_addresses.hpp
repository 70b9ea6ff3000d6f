// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_TYPED_ADDRESSES_HPP
#define RESHARD_BIND_TYPED_ADDRESSES_HPP

#include <reshard/core/strides.hpp>
#include <reshard/layout/typed_layout.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

/// \file
/// Where the shards of a typed layout lie in memory.

namespace reshard {

/// The address of each shard of each rank of `Layout`, in memory of its own: nothing is allocated.
///
/// Shards are dense, the last axis fastest. `Byte` is `std::byte`, or `std::byte const` for shards
/// that are only read.
template <class Layout, class Byte>
class typed_addresses {
    using view_type = std::conditional_t<std::is_const_v<Byte>, const_tensor_view, tensor_view>;

public:
    static constexpr std::size_t ranks = Layout::ranks.rank_count();

    typed_addresses() = default;

    /// The addresses of the shards of all ranks; element `r` is what rank `r` holds.
    ///
    /// \throws error with errc::bad_layout where a rank does not hold what the layout gives it, or
    ///         holds it with gaps between the elements
    explicit typed_addresses(std::span<basic_state_dict<view_type> const> held) {
        if (held.size() != ranks)
            fail(errc::bad_layout, "state dicts of " + std::to_string(held.size()) +
                                       " ranks for a layout of " + std::to_string(ranks));
        for (holder_t rank = 0; rank < ranks; ++rank)
            add(rank, held[rank]);
    }

    /// Says where rank `rank` has its shard of tensor number `tensor` of the layout.
    ///
    /// \pre `rank < ranks` and `tensor < Layout::keys.size()`
    void set(std::size_t tensor, holder_t rank, Byte* first) {
        all_[tensor * ranks + rank] = first;
    }

    /// The shards of tensor number `tensor`, by rank; null where there is none.
    ///
    /// \pre `tensor < Layout::keys.size()`
    Byte* const* of(std::size_t tensor) const { return all() + tensor * ranks; }

    /// Those of all tensors behind each other.
    Byte* const* all() const { return all_.data(); }

private:
    void add(holder_t rank, basic_state_dict<view_type> const& held) {
        std::array<bool, Layout::keys.size()> has{};
        for (auto const& [shard, tensor] : held) {
            std::size_t const place = Layout::keys.find(hashed_key(shard.key));
            if (place == has.size() || has[place] || !is_there(place, rank, shard))
                fail(errc::bad_layout,
                     named(rank, to_string(shard)) + ", which the layout does not assign to it");
            if (!is_row_major(tensor.shape, tensor.strides))
                fail(errc::bad_layout, named(rank, to_string(shard)) + " with the strides " +
                                           to_string(tensor.strides) +
                                           "; a typed plan moves dense shards only");
            has[place] = true;
            set(place, rank, static_cast<Byte*>(tensor.data));
        }
        for (std::size_t place = 0; place < has.size(); ++place)
            if (!has[place] && Layout::kinds[place]->how().region(rank))
                fail(errc::bad_layout,
                     named(rank, "nothing of '" + std::string(Layout::keys[place].text)) +
                         "', of which the layout assigns it a shard");
    }

    static std::string named(holder_t rank, std::string const& what) {
        return "rank " + std::to_string(rank) + " holds " + what;
    }

    static bool is_there(std::size_t place, holder_t rank, shard_descriptor const& shard) {
        typed_kind const& kind = *Layout::kinds[place];
        return shard.global_shape == kind.shape && shard.dtype == kind.dtype && !shard.flat &&
               kind.how().region(rank) == shard.region;
    }

    std::array<Byte*, Layout::keys.size() * ranks> all_{};
};

} // namespace reshard

#endif
