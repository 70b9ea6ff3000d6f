// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_DESCRIPTOR_HPP
#define RESHARD_SERIALIZATION_DESCRIPTOR_HPP

#include <reshard/serialization/core.hpp>
#include <reshard/shard/descriptor.hpp>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>

#include <sstream>
#include <string>
#include <vector>

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

/// A list of descriptors as bytes, for this library on machines of this kind.
inline std::string to_bytes(std::vector<shard_descriptor> const& shards) {
    std::ostringstream stream;
    boost::archive::binary_oarchive archive(stream, boost::archive::no_header);
    detail::write_list(archive, shards);
    return std::move(stream).str();
}

/// The list that `to_bytes` made bytes of.
///
/// \throws error with errc::corrupt_file for bytes that it did not make
inline std::vector<shard_descriptor> descriptors_from_bytes(std::string const& bytes) {
    return detail::blame_archive("list of shards", [&] {
        std::istringstream stream(bytes);
        boost::archive::binary_iarchive archive(stream, boost::archive::no_header);
        return detail::read_list<shard_descriptor>(archive);
    });
}

} // namespace reshard

#endif
