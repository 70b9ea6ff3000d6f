// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_DESCRIPTOR_HPP
#define RESHARD_LAYOUT_DESCRIPTOR_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/flat_range.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Describes a shard without its data: the elements of a tensor that a holder has.

namespace reshard {

/// A shard of a global tensor: a box of the tensor, a flat range of such a box, or regularly spaced
/// blocks of such a box.
///
/// \par Units  elements
/// \par Source ShardedWeightDesc of PaddlePaddle Flex Checkpoint; here the data type is included,
///             and the flat range is a part of the identity
struct shard_descriptor {
    std::string key;
    data_type dtype{};
    index_vector global_shape;
    box region;
    std::optional<flat_range> flat{}; ///< positions in the row-major order of `region`
    detail::axis_cycles cycles{};     ///< the axes along which the shard has only blocks of
                                      ///< `region`

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.global_shape, self.region, self.flat, self.cycles);
    }

    constexpr bool operator==(shard_descriptor const&) const = default;
};

namespace detail {

template <>
inline constexpr stored_form form_of<shard_descriptor>{"shard"};

} // namespace detail

/// The shape of the local tensor that stores the shard. It is the shape of the region. A flat shard
/// has one axis, and a cyclic shard has the shape of its packed blocks.
///
/// \pre the shard passes `check`
constexpr index_vector local_shape(shard_descriptor const& shard) {
    return shard.flat ? index_vector{shard.flat->size()}
                      : detail::held_shape(shard.region, shard.cycles);
}

/// The shard as one line, for example `w: bfloat16 [4, 6] [0:2, 0:6]`. A flat shard has ` flat 3:9`
/// at the end. A shard of every first two of four elements along axis 1 has ` axis 1: 2 of 4` at
/// the end.
RESHARD_DECL std::string to_string(shard_descriptor const& shard);

namespace detail {

/// \throws error with errc::bad_layout if the shard exceeds the global extent along `axis`
constexpr void check_axis(shard_descriptor const& shard, std::size_t axis) {
    index_t const first = shard.region.offset[axis];
    index_t const extent = shard.region.shape[axis];
    index_t const global = shard.global_shape[axis];
    if (first < 0 || extent < 0 || first > global || extent > global - first)
        fail(errc::bad_layout, "'", shard.key, "': axis ", axis, ": a shard of ",
             counted(extent, "element"), " at offset ", first, " exceeds the global extent ",
             global);
}

/// \throws error with errc::bad_layout if blocks do not fit the region, or if the shard is also
///         flat
constexpr void check_cycles(shard_descriptor const& shard) {
    if (shard.flat && !shard.cycles.empty())
        fail(errc::bad_layout, "'", shard.key, "': flat range ", *shard.flat, " and blocks along",
             to_string(shard.cycles), "; a shard has one or the other");
    if (axis_cycle const* const bad = find_bad_cycle(shard.region, shard.cycles))
        fail(errc::bad_layout, "'", shard.key, "': axis ", bad->axis, ": blocks of ",
             counted(bad->block, "element"), ", ", bad->period,
             " apart, do not fit a region of shape ", shard.region.shape);
}

/// True if the number of elements times `each` fits 64 bits.
constexpr bool is_countable(index_vector const& shape, index_t each) {
    if (is_empty(whole(shape)))
        return true;
    index_t left = std::numeric_limits<index_t>::max() / each;
    for (index_t const extent : shape)
        left /= extent;
    return left > 0;
}

/// Throws if the number of elements of a tensor does not fit 64 bits.
///
/// \pre    no extent is negative
/// \throws error with errc::overflow that names key and shape
constexpr void check_count(std::string_view key, index_vector const& shape) {
    if (!is_countable(shape, 1))
        fail(errc::overflow, "'", key, "': a tensor of shape ", shape, " has more than ",
             std::numeric_limits<index_t>::max(), " elements; its shape must be smaller");
}

/// Throws if the number of bits of a tensor does not fit 64 bits.
///
/// \pre    no extent is negative
/// \throws error with errc::overflow that names key, shape and data type
constexpr void check_size(std::string_view key, index_vector const& shape, data_type dtype) {
    if (!is_countable(shape, bits(dtype)))
        fail(errc::overflow, "'", key, "': a tensor of shape ", shape, " with ", bits(dtype),
             " bits per element (", dtype, ") has more than ", std::numeric_limits<index_t>::max(),
             " bits; its shape must be smaller");
}

} // namespace detail

/// Throws if a shard is not a valid part of its tensor.
///
/// \throws error with errc::bad_layout if key, shapes or flat range contradict each other, or with
///         errc::overflow if the tensor has more than 2^63 - 1 bits
constexpr void check(shard_descriptor const& shard) {
    if (shard.key.empty())
        fail(errc::bad_layout, "a shard of shape ", shard.region.shape, " has no key");
    if (shard.region.offset.size() != shard.global_shape.size() ||
        shard.region.shape.size() != shard.global_shape.size())
        fail(errc::bad_layout, "'", shard.key, "': a shard of shape ", shard.region.shape,
             " at offset ", shard.region.offset,
             " does not have the number of axes of the global shape ", shard.global_shape);
    for (std::size_t axis = 0; axis < shard.global_shape.size(); ++axis)
        detail::check_axis(shard, axis);
    detail::check_size(shard.key, shard.global_shape, shard.dtype);
    if (shard.flat && (shard.flat->begin < 0 || shard.flat->end < shard.flat->begin ||
                       shard.flat->end > element_count(shard.region)))
        fail(errc::bad_layout, "'", shard.key, "': flat range ", *shard.flat,
             " exceeds a region of ", detail::counted(element_count(shard.region), "element"));
    detail::check_cycles(shard);
}

namespace detail {

/// Throws if a tensor is not valid.
///
/// \throws error with errc::bad_layout or errc::overflow
constexpr void check_tensor(std::string const& key, data_type dtype, index_vector const& shape) {
    check(shard_descriptor{key, dtype, shape, whole(shape), {}});
}

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/descriptor.ipp>
#endif

#endif
