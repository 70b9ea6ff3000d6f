// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_GUARDED_SHARDS_HPP
#define RESHARD_TEST_SUPPORT_GUARDED_SHARDS_HPP

#include "storage/held.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Shards in memory with elements between and around them that nobody may touch.

namespace reshard::test {

/// The shards of a rank: row after row, a guard before the first and after each.
///
/// Elements come from `content_of`, which knows nothing of the library's arithmetic.
///
/// \pre all data types have whole bytes
class guarded_shards {
public:
    explicit guarded_shards(std::vector<shard_descriptor> shards) : shards_(std::move(shards)) {
        for (shard_descriptor const& shard : shards_)
            memory_.push_back(image_of(shard, std::byte{0}));
    }

    /// Makes every element wrong, in every bit: one that nobody writes shows itself. Guards become others
    /// than a source's, which may be what is written over them.
    guarded_shards& spoil() {
        guard_ = std::byte{0x5a};
        for (std::size_t i = 0; i < shards_.size(); ++i)
            memory_[i] = image_of(shards_[i], std::byte{0xff});
        return *this;
    }

    state_dict views() {
        state_dict tensors;
        for (std::size_t i = 0; i < shards_.size(); ++i)
            tensors.add(shards_[i],
                        tensor_view{memory_[i].data() + width_of(shards_[i]), shards_[i].dtype,
                                    shape_of(shards_[i]), strides_of(shape_of(shards_[i]))});
        return tensors;
    }

    /// The first shard with a wrong element or a wrong guard; nothing if there is none.
    std::string fault() const {
        for (std::size_t i = 0; i < shards_.size(); ++i)
            if (memory_[i] != image_of(shards_[i], std::byte{0}))
                return to_string(shards_[i]);
        return {};
    }

    std::size_t size() const { return shards_.size(); }

    index_t elements() const {
        index_t count = 0;
        for (shard_descriptor const& shard : shards_)
            count += extent_product(shape_of(shard));
        return count;
    }

private:
    static std::size_t width_of(shard_descriptor const& shard) {
        return static_cast<std::size_t>(bits(shard.dtype)) / 8;
    }

    static index_vector shape_of(shard_descriptor const& shard) {
        if (shard.flat)
            return {shard.flat->end - shard.flat->begin};
        return shard.region.shape;
    }

    static index_vector strides_of(index_vector const& shape) {
        index_vector strides = index_vector::filled(shape.size(), 1);
        for (std::size_t axis = shape.size(); axis-- > 1;)
            strides[axis - 1] = strides[axis] * (shape[axis] + (axis + 1 == shape.size() ? 1 : 0));
        return strides;
    }

    /// The memory of a shard whose elements have been flipped in these bits.
    std::vector<std::byte> image_of(shard_descriptor const& shard, std::byte flip) const {
        std::size_t const width = width_of(shard);
        auto content = content_of(shard);
        for (std::byte& each : content)
            each ^= flip;
        index_vector const shape = shape_of(shard);
        std::size_t const row =
            width * (shape.empty() ? 1 : static_cast<std::size_t>(shape[shape.size() - 1]));
        std::vector<std::byte> image(width, guard_);
        for (std::size_t at = 0; at < content.size(); at += row) {
            auto const begin = content.begin() + static_cast<std::ptrdiff_t>(at);
            image.insert(image.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
            image.insert(image.end(), width, guard_);
        }
        return image;
    }

    std::vector<shard_descriptor> shards_;
    std::vector<std::vector<std::byte>> memory_;
    std::byte guard_{0xa5};
};

} // namespace reshard::test

#endif
