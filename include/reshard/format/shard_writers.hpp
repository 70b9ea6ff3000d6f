// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SHARD_WRITERS_HPP
#define RESHARD_FORMAT_SHARD_WRITERS_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/layout/layout.hpp>

#include <map>
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

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/shard_writers.ipp>
#endif

#endif
