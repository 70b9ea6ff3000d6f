// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_STORAGE_HELD_HPP
#define RESHARD_TEST_STORAGE_HELD_HPP

#include <reshard/tensor/state_dict.hpp>

#include <boost/endian/conversion.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Shards whose elements are known without the library: each is a hash of key and global index.

namespace reshard::test {

/// The bits of the element that is number `index` of tensor `key` in row-major order.
inline std::uint64_t element_bits(std::string const& key, index_t index, data_type dtype) {
    std::uint64_t hash = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(index + 1);
    // By pointer: a string's iterators would be most of the time of tests with the sanitizers.
    char const* const end = key.data() + key.size();
    for (char const* character = key.data(); character != end; ++character)
        hash = (hash ^ static_cast<unsigned char>(*character)) * 0x100000001b3u;
    hash ^= hash >> 29;
    return dtype == data_type::boolean ? hash & 1 : hash;
}

/// Appends the lowest bits of `value`, lowest first.
inline void append_bits(std::vector<std::byte>& bytes, std::size_t position, int count,
                        std::uint64_t value) {
    if (position % 8 == 0 && count % 8 == 0) { // the same, and ten times as fast
        boost::endian::native_to_little_inplace(value);
        auto const* const lowest = reinterpret_cast<std::byte const*>(&value);
        bytes.insert(bytes.end(), lowest, lowest + count / 8);
        return;
    }
    for (int i = 0; i < count; ++i, ++position) {
        if (position / 8 == bytes.size())
            bytes.emplace_back();
        if (value >> i & 1)
            bytes[position / 8] |= std::byte(1 << position % 8);
    }
}

inline index_t extent_product(index_vector const& shape) {
    index_t product = 1;
    for (index_t const extent : shape)
        product *= extent;
    return product;
}

/// Which element of its region is number `i` of the memory of a shard, whose blocks lie side by
/// side.
inline index_t region_element(shard_descriptor const& shard, index_t i) {
    index_t element = 0, step = 1;
    index_vector const held = local_shape(shard);
    for (std::size_t axis = held.size(); axis-- > 0; i /= held[axis]) {
        index_t at = i % held[axis];
        for (detail::axis_cycle const& cycle : shard.cycles)
            if (cycle.axis == axis)
                at = at / cycle.block * cycle.period + at % cycle.block;
        element += step * at;
        step *= shard.region.shape[axis];
    }
    return element;
}

/// The shard's expected memory, row-major and packed, if element `i` of its region has the bits
/// `bits_at(i)`.
std::vector<std::byte> content_of(shard_descriptor const& shard, auto&& bits_at) {
    index_t const first = shard.flat ? shard.flat->begin : 0;
    index_t const last = shard.flat ? shard.flat->end : extent_product(local_shape(shard));
    auto const width = static_cast<std::size_t>(bits(shard.dtype));
    std::vector<std::byte> bytes;
    bytes.reserve((static_cast<std::size_t>(last - first) * width + 7) / 8);
    for (index_t i = first; i < last; ++i)
        append_bits(bytes, static_cast<std::size_t>(i - first) * width, bits(shard.dtype),
                    bits_at(shard.cycles.empty() ? i : region_element(shard, i)));
    return bytes;
}

/// The same if elements are `element_bits`.
inline std::vector<std::byte> content_of(shard_descriptor const& shard) {
    return content_of(shard, [&](index_t remainder) {
        index_t index = 0, step = 1;
        for (std::size_t axis = shard.global_shape.size(); axis-- > 0;) {
            index += step * (shard.region.offset[axis] + remainder % shard.region.shape[axis]);
            remainder /= shard.region.shape[axis];
            step *= shard.global_shape[axis];
        }
        return element_bits(shard.key, index, shard.dtype);
    });
}

/// The shards of one rank and their memory.
class held {
public:
    explicit held(std::vector<shard_descriptor> shards) : shards_(std::move(shards)) {
        for (shard_descriptor const& shard : shards_)
            memory_.push_back(content_of(shard));
    }

    /// Forgets all elements.
    held& cleared() {
        for (auto& bytes : memory_)
            bytes.assign(bytes.size(), std::byte{0xEE});
        return *this;
    }

    state_dict tensors() {
        state_dict state;
        for (std::size_t i = 0; i < shards_.size(); ++i) {
            index_vector const shape = local_shape(shards_[i]);
            state.add(shards_[i], tensor_view{memory_[i].data(), shards_[i].dtype, shape,
                                              row_major_strides(shape)});
        }
        return state;
    }

    /// The first shard with wrong memory, as text, if any.
    std::string wrong() const {
        for (std::size_t i = 0; i < shards_.size(); ++i)
            if (memory_[i] != content_of(shards_[i]))
                return to_string(shards_[i]);
        return {};
    }

    /// True if no element was written since `cleared`.
    bool is_untouched() const {
        for (auto const& bytes : memory_)
            for (std::byte const byte : bytes)
                if (byte != std::byte{0xEE})
                    return false;
        return true;
    }

    std::vector<std::byte>& memory(std::size_t i) { return memory_[i]; }

private:
    std::vector<shard_descriptor> shards_;
    std::vector<std::vector<std::byte>> memory_;
};

/// A box of a tensor.
inline shard_descriptor shard_of(std::string const& key, data_type dtype,
                                 index_vector const& global, index_vector const& offset,
                                 index_vector const& shape) {
    return {key, dtype, global, {offset, shape}, {}};
}

inline shard_descriptor whole_of(std::string const& key, data_type dtype,
                                 index_vector const& shape) {
    return {key, dtype, shape, whole(shape), {}};
}

} // namespace reshard::test

#endif
