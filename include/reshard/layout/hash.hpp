// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_HASH_HPP
#define RESHARD_LAYOUT_HASH_HPP

#include <reshard/core/hasher.hpp>
#include <reshard/layout/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

/// \file
/// Descriptors as keys of hash tables, and as numbers that ranks compare.

namespace reshard {

/// A digest of all that a descriptor says; the same on every machine.
///
/// \par Source the index of Flex Checkpoint is (key, offset), so that two flat shares of one box are
///             one entry; here the flat range counts too
constexpr std::uint64_t digest_of(shard_descriptor const& shard) {
    hasher digest;
    digest.add(shard.key);
    digest.add(static_cast<std::uint64_t>(shard.dtype));
    for (auto const* numbers : {&shard.global_shape, &shard.region.offset, &shard.region.shape})
        digest.add(std::span<index_t const>(numbers->begin(), numbers->end()));
    digest.add(static_cast<std::uint64_t>(shard.flat.has_value()));
    flat_range const flat = shard.flat.value_or(flat_range{});
    digest.add(static_cast<std::uint64_t>(flat.begin));
    digest.add(static_cast<std::uint64_t>(flat.end));
    return digest.value();
}

} // namespace reshard

/// For `std::unordered_map` and its like.
template <>
struct std::hash<reshard::shard_descriptor> {
    std::size_t operator()(reshard::shard_descriptor const& shard) const {
        return static_cast<std::size_t>(reshard::digest_of(shard));
    }
};

#endif
