// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_DESCRIPTOR_HPP
#define RESHARD_SERIALIZATION_DESCRIPTOR_HPP

#include <reshard/serialization/core.hpp>
#include <reshard/layout/descriptor.hpp>

#include <cstdint>
#include <optional>

/// \file
/// Descriptors as bytes, for ranks to tell each other what they hold.

namespace reshard {

template <>
inline constexpr stored_form form_of<shard_descriptor>{"shard"};

namespace detail {

/// Whether there is a range, then the range.
template <class Archive>
void write_flat(Archive& archive, std::optional<flat_range> const& flat) {
    archive << static_cast<std::uint8_t>(flat.has_value());
    if (flat)
        archive << *flat;
}

template <class Archive>
std::optional<flat_range> read_flat(Archive& archive) {
    if (!read_bool(archive))
        return std::nullopt;
    flat_range range;
    archive >> range;
    return range;
}

} // namespace detail

/// Key, data type, global shape, region, flat range.
template <class Archive>
void write_to(Archive& archive, shard_descriptor const& shard) {
    detail::write_text(archive, shard.key);
    detail::write_dtype(archive, shard.dtype);
    archive << shard.global_shape << shard.region;
    detail::write_flat(archive, shard.flat);
}

/// A descriptor as it is; `check` tells whether it is a part of its tensor.
///
/// \throws error with errc::corrupt_file for a data type or a number of axes that there is not
template <class Archive>
void read_from(Archive& archive, shard_descriptor& shard) {
    shard.key = detail::read_text(archive);
    shard.dtype = detail::read_dtype(archive);
    archive >> shard.global_shape >> shard.region;
    shard.flat = detail::read_flat(archive);
}

} // namespace reshard

#endif
