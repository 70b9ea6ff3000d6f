// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_NUMBERED_SHARDS_HPP
#define RESHARD_TEST_SUPPORT_NUMBERED_SHARDS_HPP

#include "oracle/element.hpp"

#include <reshard/core/index_vector.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

/// \file
/// Tensors whose elements count up, so that a wrong move shows itself.

namespace reshard::test {

using namespace reshard::detail;

/// The shards of one rank, row by row in memory, with integers as elements.
class numbered_shards {
public:
    static constexpr std::byte background{0xa5};

    explicit numbered_shards(std::vector<shard_descriptor> const& shards) : shards_(shards) {
        for (shard_descriptor const& shard : shards_)
            bytes_.emplace_back(
                static_cast<std::size_t>(element_count(shard.region)) * width(shard), background);
    }

    /// Writes the values that a source has.
    void fill(std::map<std::string, index_t> const& bases) {
        for (std::size_t i = 0; i < shards_.size(); ++i) {
            shard_descriptor const& shard = shards_[i];
            for (index_t n = 0; n < element_count(shard.region); ++n) {
                index_vector position = unravel_index(n, shard.region.shape);
                for (std::size_t axis = 0; axis < position.size(); ++axis)
                    position[axis] += shard.region.offset[axis];
                index_t const value =
                    bases.at(shard.key) + ravel_index(position, shard.global_shape);
                std::uint64_t const bits =
                    oracle::bits_of(std::string(reshard::name(shard.dtype)), value);
                std::memcpy(bytes_[i].data() + static_cast<std::size_t>(n) * width(shard), &bits,
                            width(shard));
            }
        }
    }

    state_dict views() {
        state_dict tensors;
        for (std::size_t i = 0; i < shards_.size(); ++i)
            tensors.add(shards_[i],
                        tensor_view{bytes_[i].data(), shards_[i].dtype, shards_[i].region.shape,
                                    row_major_strides(shards_[i].region.shape)});
        return tensors;
    }

    std::vector<shard_descriptor> const& shards() const { return shards_; }

    bool is_untouched(std::size_t shard) const {
        return std::ranges::all_of(bytes_[shard], [](std::byte b) { return b == background; });
    }

    /// The values of a shard as 64-bit integers, row by row; -1 if one is not an integer.
    std::vector<std::int64_t> values(std::size_t shard) const {
        shard_descriptor const& descriptor = shards_[shard];
        std::vector<std::int64_t> matches;
        for (std::size_t at = 0; at < bytes_[shard].size(); at += width(descriptor)) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, bytes_[shard].data() + at, width(descriptor));
            matches.push_back(value_of(descriptor.dtype, bits));
        }
        return matches;
    }

private:
    static std::size_t width(shard_descriptor const& shard) {
        return static_cast<std::size_t>(byte_count(1, shard.dtype));
    }

    /// The integer from 0 on that has these bits, by data type; the cases have none beyond 20000.
    static std::map<std::uint64_t, std::int64_t> table_of(data_type dtype) {
        std::string const type(reshard::name(dtype));
        std::map<std::uint64_t, std::int64_t> table;
        for (std::int64_t value = 0; value < (dtype == data_type::u8 ? 256 : 20000); ++value)
            if (oracle::nearest(type, value) == value)
                table.emplace(oracle::bits_of(type, value), value);
        return table;
    }

    static std::int64_t value_of(data_type dtype, std::uint64_t bits) {
        static std::map<data_type, std::map<std::uint64_t, std::int64_t>> tables;
        auto& table = tables[dtype];
        if (table.empty())
            table = table_of(dtype);
        auto const match = table.find(bits);
        return match == table.end() ? -1 : match->second;
    }

    std::vector<shard_descriptor> shards_;
    std::vector<std::vector<std::byte>> bytes_;
};

} // namespace reshard::test

#endif
