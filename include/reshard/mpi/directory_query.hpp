// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_DIRECTORY_QUERY_HPP
#define RESHARD_MPI_DIRECTORY_QUERY_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/layout/holder.hpp>

/// \file
/// Plans between layouts that no rank knows completely: target ranks look up their source ranks,
/// and notify them.

namespace reshard {

/// A value of `options::lookup` for many ranks. It has an effect if no rank knows the layout of a
/// side and there are more than `gather_up_to` ranks. Then ranks do not send their shards to all
/// others. Instead, each rank looks up the sources of its tensors in a directory that all ranks
/// share. A rank's memory grows with its own shards, their sources, and the number of keys, but not
/// with the number of ranks.
RESHARD_DECL detail::shard_lookup directory(holder_t gather_up_to = 256);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/directory_query.ipp>
#endif

#endif
