// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_HASH_HPP
#define RESHARD_LAYOUT_HASH_HPP

#include <reshard/core/digest.hpp>
#include <reshard/layout/descriptor.hpp>

#include <cstddef>
#include <functional>

/// \file
/// Descriptors as keys of hash tables: by all that they say.
///
/// \par Source the index of Flex Checkpoint is (key, offset), so that two flat shares of one box
///             are one entry; here the flat range counts too

/// For `std::unordered_map` and its like.
template <>
struct std::hash<reshard::shard_descriptor> {
    std::size_t operator()(reshard::shard_descriptor const& shard) const {
        return static_cast<std::size_t>(reshard::detail::digest_of(shard));
    }
};

#endif
