// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_DESCRIPTOR_HPP
#define RESHARD_SERIALIZATION_DESCRIPTOR_HPP

#include <reshard/shard/descriptor.hpp>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>

#include <sstream>
#include <string>
#include <vector>

/// \file
/// Descriptors as bytes, for ranks to tell each other what they hold.

namespace boost::serialization {

template <class Archive>
void serialize(Archive& archive, reshard::index_vector& numbers, unsigned) {
    archive& numbers.count;
    for (reshard::index_t& number : numbers)
        archive& number;
}

template <class Archive>
void serialize(Archive& archive, reshard::box& region, unsigned) {
    archive& region.offset& region.shape;
}

template <class Archive>
void serialize(Archive& archive, reshard::shard_descriptor& shard, unsigned) {
    bool is_flat = shard.flat.has_value();
    archive& shard.key& shard.dtype& shard.global_shape& shard.region& is_flat;
    if (is_flat) {
        reshard::flat_range range = shard.flat.value_or(reshard::flat_range{});
        archive& range.begin& range.end;
        shard.flat = range;
    }
}

} // namespace boost::serialization

namespace reshard {

/// A list of descriptors as bytes, for this library on machines of this kind.
inline std::string to_bytes(std::vector<shard_descriptor> const& shards) {
    std::ostringstream stream;
    boost::archive::binary_oarchive(stream, boost::archive::no_header) << shards;
    return std::move(stream).str();
}

/// The list that `to_bytes` made bytes of.
inline std::vector<shard_descriptor> descriptors_from_bytes(std::string const& bytes) {
    std::istringstream stream(bytes);
    std::vector<shard_descriptor> shards;
    boost::archive::binary_iarchive(stream, boost::archive::no_header) >> shards;
    return shards;
}

} // namespace reshard

#endif
