// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_COPY_SHARED_HPP
#define RESHARD_BIND_COPY_SHARED_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/shard_table.hpp>
#include <reshard/tensor/state_dict.hpp>

/// \file
/// Copies the elements that two shards have in common.

namespace reshard::detail {

/// A table of that shard alone.
RESHARD_DECL shard_table table_of(shard_descriptor const& shard);

/// Copies the elements of a tensor that both shards have from the one to the other, and returns how
/// many there are; the target's others keep their content.
///
/// Keys may differ. Either shard may be flat, and strided.
///
/// \throws     error as `check` of local shards; with errc::shape_mismatch or errc::dtype_mismatch
///             for shards of different tensors, errc::memory_overlap where they share memory
/// \par Source `assign_sharded_slice` of PaddlePaddle Flex Checkpoint, which asserts that one of
///             the two shards has elements, where both must
RESHARD_DECL index_t copy_shared(const_local_shard const& source, local_shard const& target);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/copy_shared.ipp>
#endif

#endif
