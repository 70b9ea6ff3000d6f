// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BRIDGE_STORED_SHARDS_HPP
#define RESHARD_BRIDGE_STORED_SHARDS_HPP

#include <reshard/bind/job.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/device/device.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/layout/holder.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/tensor/view.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// The layout of one program, and the offsets of a source's shards in the segment of its process:
/// both sides compute these from the layout alone.

namespace reshard::detail {

/// A shard, stored row by row in both buffers.
struct stored_shard {
    std::uint32_t tensor = 0; ///< index in the layout
    std::uint32_t shard = 0;  ///< index among the tensor's shards
    data_type dtype{};
    index_vector shape;
    index_t offset = 0; ///< from the beginning of a buffer
    index_t bytes = 0;
};

/// The shards of one holder in a segment. First come the stamps, one per shard and buffer: the
/// version in which the shard last changed. Then come both buffers.
class stored_shards {
public:
    stored_shards() = default;
    stored_shards(layout const& layout, holder_t holder);

    vector<stored_shard> const& list() const { return list_; }

    /// The index of a shard in the list, or std::nullopt.
    std::optional<std::size_t> find(std::uint32_t tensor, std::uint32_t shard) const;

    /// \par Units bytes; at least 1
    index_t segment_bytes() const { return head_bytes_ + 2 * buffer_bytes_; }

    /// \pre `segment` has `segment_bytes()`, here and below; `buffer` is 0 or 1
    std::atomic<std::uint64_t>& stamp(std::byte* segment, std::size_t buffer,
                                      std::size_t number) const;

    tensor_view view(std::byte* segment, std::size_t buffer, std::size_t number) const;

private:
    vector<stored_shard> list_;
    index_t head_bytes_ = 0;
    index_t buffer_bytes_ = 0;
};

/// The layout of one side, on every rank of its program.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank: an error from adding a tensor; as `layout_of`; errc::bad_layout for
///         a layout of more ranks than the group has
template <class View>
layout layout_of_side(any_group const& world, side<View> const& side, device_list const& devices,
                      std::string_view noun) {
    local_error const problem = attempt([&] { side.tensors.check(spaces_of(devices)); });
    agree_to_run(world, "make the " + std::string(noun) + " of a bridge", 0, problem);
    layout layout = layout_of_ranks(world, side.layout, side.tensors.descriptors(), noun);
    if (layout.holders > static_cast<holder_t>(world.size()))
        fail(errc::bad_layout, "the layout of the ", noun, " is for ", layout.holders,
             " ranks, and the group has ", world.size());
    return layout;
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bridge/impl/stored_shards.ipp>
#endif

#endif
