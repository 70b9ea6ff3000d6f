// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_UNIT_COPY_SUPPORT_HPP
#define RESHARD_TEST_UNIT_COPY_SUPPORT_HPP

#include <reshard/copy/affine_copy.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

/// \file
/// Random copies, and their meaning, one index after the other.

namespace reshard::test {

using namespace reshard::detail;

inline index_t draw(std::mt19937& random, index_t first, index_t last) {
    return std::uniform_int_distribution<index_t>(first, last)(random);
}

/// Strides of a dense array with its axes in random order, some of them stretched or turned round.
struct random_layout {
    index_t offset = 0;
    index_t size = 1; ///< elements that it spans
    index_vector strides;

    random_layout(std::mt19937& random, index_vector const& extent) {
        strides = index_vector::filled(extent.size(), 0);
        std::vector<std::size_t> order(extent.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (draw(random, 0, 2) != 0)
            std::shuffle(order.begin(), order.end(), random);
        for (std::size_t const axis : order) {
            if (draw(random, 0, 3) == 0)
                size = size * (1 + draw(random, 0, 2)) + draw(random, 0, 2);
            bool const backwards = draw(random, 0, 9) == 0;
            strides[axis] = backwards ? -size : size;
            if (backwards && extent[axis] > 0)
                offset += (extent[axis] - 1) * size;
            size *= std::max<index_t>(extent[axis], 1);
        }
        index_t const before = draw(random, 0, 3);
        offset += before;
        size += before;
    }
};

/// A copy whose extents are mostly of the given size, and now and then 0, 1 or three times as large.
inline affine_copy random_copy(std::mt19937& random, index_t most_axes, index_t extent) {
    index_vector shape;
    for (index_t axes = draw(random, 0, most_axes); axes > 0; --axes) {
        index_t const kind = draw(random, 0, 19);
        shape.push_back(kind == 0   ? 0
                        : kind <= 2 ? 1
                        : kind == 3 ? 3 * extent
                                    : draw(random, 1, extent));
    }
    random_layout const source(random, shape);
    random_layout const target(random, shape);
    return {shape, source.offset, source.strides, target.offset, target.strides};
}

/// The (source, target) places of every element, walked naively.
inline std::vector<std::pair<index_t, index_t>> places(affine_copy const& copy) {
    std::vector<std::pair<index_t, index_t>> pairs{{copy.source_offset, copy.target_offset}};
    for (std::size_t axis = 0; axis < copy.ndim(); ++axis) {
        std::vector<std::pair<index_t, index_t>> next;
        for (auto const& [source, target] : pairs)
            for (index_t i = 0; i < copy.extent[axis]; ++i)
                next.emplace_back(source + i * copy.source_strides[axis],
                                  target + i * copy.target_strides[axis]);
        pairs = next;
    }
    return pairs;
}

/// The bits that places of a side reach up to.
inline index_t span_of(std::vector<std::pair<index_t, index_t>> const& pairs, bool of_source) {
    index_t end = 0;
    for (auto const& [source, target] : pairs)
        end = std::max(end, (of_source ? source : target) + 1);
    return end;
}

inline std::vector<unsigned char> random_bytes(std::mt19937& random, std::size_t count) {
    std::vector<unsigned char> bytes(count);
    for (unsigned char& byte : bytes)
        byte = static_cast<unsigned char>(random());
    return bytes;
}

/// One bit at a time, which cannot go wrong.
inline std::uint64_t get_bits(std::vector<unsigned char> const& bytes, index_t position,
                              int count) {
    std::uint64_t value = 0;
    for (int i = 0; i < count; ++i) {
        auto const at = static_cast<std::size_t>(position + i);
        value |= static_cast<std::uint64_t>((bytes.at(at / 8) >> (at % 8)) & 1) << i;
    }
    return value;
}

inline void set_bits(std::vector<unsigned char>& bytes, index_t position, int count,
                     std::uint64_t value) {
    for (int i = 0; i < count; ++i) {
        auto const at = static_cast<std::size_t>(position + i);
        auto const bit = static_cast<unsigned char>(1u << (at % 8));
        if ((value >> i) & 1)
            bytes.at(at / 8) = static_cast<unsigned char>(bytes.at(at / 8) | bit);
        else
            bytes.at(at / 8) = static_cast<unsigned char>(bytes.at(at / 8) & ~bit);
    }
}

} // namespace reshard::test

#endif
