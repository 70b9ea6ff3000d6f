// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_WHOLE_TENSORS_HPP
#define RESHARD_STORAGE_WHOLE_TENSORS_HPP

#include <reshard/bind/redistribute.hpp>
#include <reshard/core/config.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/mpi/redistribute.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Tensors made whole one after the other, for what writes files of its own.

namespace reshard::detail {

/// The shards of each key.
RESHARD_DECL std::map<std::string, const_state_dict, std::less<>>
shards_by_key(const_state_dict const& shards);

/// A whole tensor in memory of its own.
class whole_tensor {
public:
    /// \throws std::bad_alloc, error with errc::overflow
    explicit whole_tensor(tensor_layout const& tensor);

    tensor_view view();

    shard_descriptor const& descriptor() const { return descriptor_; }

private:
    std::vector<std::byte> bytes_;
    shard_descriptor descriptor_;
};

/// Calls `visit(key, tensor)` on rank `reader` with each tensor that the ranks hold together, whole
/// and row-major, in the order of keys.
///
/// One tensor at a time is in memory, and nowhere but on the reader: what `visit` sees is gone when
/// it returns. Padding of flat slices belongs to no rank, so it does not arrive.
///
/// \par Collective every rank of the group, in the same order
/// \throws     error on every rank alike: as `gather_layout` and `redistribute`, or what `visit`
///             throws; tensors before that have been seen. errc::usage for a reader that is no rank
/// \par Source the save of GroupShardedStage3 of PaddlePaddle, which gathers `fw_storage` of all
///             parameters before it writes the first; the streaming of its Flex Checkpoint
template <group Group, class Visit>
void for_each_whole(Group const& world, const_state_dict const& source, Visit const& visit,
                    int reader = 0) {
    agree_to_run(world, "for_each_whole", static_cast<std::uint64_t>(reader), attempt([&] {
                     source.check();
                     if (reader < 0 || reader >= world.size())
                         fail(errc::usage, "there is no rank " + std::to_string(reader) +
                                               " among " + std::to_string(world.size()) +
                                               " to read whole tensors");
                 }));
    layout const held = layout_of_all(world, source.descriptors());
    auto const mine = shards_by_key(source);
    for (tensor_layout const& tensor : held.tensors) {
        std::optional<whole_tensor> made;
        state_dict target;
        agree_on(world, [&] {
            if (world.rank() != reader)
                return;
            made.emplace(tensor);
            target.add(made->descriptor(), made->view());
        });
        auto const found = mine.find(tensor.key);
        redistribute(world, found == mine.end() ? const_state_dict() : found->second, target);
        agree_on(world, [&] {
            if (made)
                visit(std::string_view(tensor.key), const_tensor_view(made->view()));
        });
    }
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/whole_tensors.ipp>
#endif

#endif
