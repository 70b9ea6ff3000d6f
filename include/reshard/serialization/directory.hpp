// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_DIRECTORY_HPP
#define RESHARD_SERIALIZATION_DIRECTORY_HPP

#include <reshard/expr/piece.hpp>
#include <reshard/serialization/descriptor.hpp>
#include <reshard/layout/buckets.hpp>
#include <reshard/layout/holder.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// What ranks tell one another of shards that nobody knows all of.

namespace reshard {

/// A tensor of which some rank holds something, and the levels on which its shards are sorted.
struct directory_key {
    std::string key;
    data_type dtype{};
    index_vector shape;  ///< global
    holder_t holder = 0; ///< the lowest that has some of it
    std::vector<bucket_level> levels;

    bool operator==(directory_key const&) const = default;
};

/// A shard, or a question for all that share elements with its region.
struct directory_entry {
    key_id key = 0; ///< place among the keys of the directory
    holder_t holder = 0;
    std::uint32_t position = 0; ///< among the shards of that key that the holder has
    box region;
    std::optional<flat_range> flat;

    bool operator==(directory_entry const&) const = default;
};

template <>
inline constexpr stored_form form_of<directory_key>{"key"};
template <>
inline constexpr stored_form form_of<directory_entry>{"record"};

template <class Archive>
void write_to(Archive& archive, directory_key const& one) {
    detail::write_text(archive, one.key);
    detail::write_dtype(archive, one.dtype);
    archive << one.shape << one.holder;
    detail::write_list(archive, one.levels);
}

template <class Archive>
void read_from(Archive& archive, directory_key& one) {
    one.key = detail::read_text(archive);
    one.dtype = detail::read_dtype(archive);
    archive >> one.shape >> one.holder;
    one.levels = detail::read_list<bucket_level>(archive);
    for (bucket_level const& level : one.levels) {
        bool is_sound = level.size() == one.shape.size();
        for (index_t const halvings : level)
            is_sound = is_sound && 0 <= halvings && halvings < 64;
        if (!is_sound)
            detail::refuse_archive("has the level " + to_string(level) + " of a tensor of shape " +
                                   to_string(one.shape));
    }
}

template <class Archive>
void write_to(Archive& archive, directory_entry const& one) {
    archive << one.key << one.holder << one.position << one.region;
    detail::write_flat(archive, one.flat);
}

template <class Archive>
void read_from(Archive& archive, directory_entry& one) {
    archive >> one.key >> one.holder >> one.position >> one.region;
    one.flat = detail::read_flat(archive);
}

} // namespace reshard

#endif
