// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SHARD_WRITERS_HPP
#define RESHARD_FORMAT_SHARD_WRITERS_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/layout/layout.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Which rank writes what of a layout.

namespace reshard::detail {

/// The shards that each rank writes, sorted by key: each different shard of the layout once, or by
/// all ranks that hold it, as the choices say.
///
/// \throws error with errc::usage for a writer that does not hold the shard
RESHARD_DECL std::map<holder_t, std::vector<file_shard>>
shards_by_writer(layout const& target, file_choices const& choices);

/// The shards of a rank for several files: a key stands once in each.
///
/// \pre sorted by key
RESHARD_DECL std::vector<std::vector<file_shard>> split_by_key(std::vector<file_shard> shards);

/// The shape in which a shard stands in its file.
inline index_vector stored_shape(file_shard const& shard) {
    return shard.flat ? index_vector{shard.flat->size()} : index_vector(shard.region.shape);
}

/// The bytes of each.
RESHARD_DECL std::vector<std::uint64_t> bytes_of(std::vector<file_shard> const& shards);

/// The safetensors file of these shards. Its data begins at a cache line, or, of a large one, at a
/// page, since systems copy whole pages fastest.
///
/// \throws error as `plan_safetensors`
RESHARD_DECL safetensors_layout plan_of(std::vector<file_shard> const& shards,
                                       std::map<std::string, std::string> const& metadata,
                                       std::string_view file);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/shard_writers.ipp>
#endif

#endif
