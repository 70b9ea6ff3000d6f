// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_COPY_SHARED_IPP
#define RESHARD_BIND_IMPL_COPY_SHARED_IPP

#include <reshard/bind/copy_shared.hpp>

#include <reshard/bind/place.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/tensor/address_range.hpp>

#include <string>
#include <vector>

namespace reshard::detail {

/// Refuses two shards that are not of one tensor, or that share memory.
inline void check_pair(const_local_shard const& source, local_shard const& target) {
    check(source);
    check(target);
    shard_descriptor const &from = source.descriptor, &to = target.descriptor;
    if (from.global_shape != to.global_shape)
        fail(errc::shape_mismatch, "'" + from.key + "' has the shape " +
                                       to_string(from.global_shape) + ", and '" + to.key + "' " +
                                       to_string(to.global_shape));
    if (from.dtype != to.dtype)
        fail(errc::dtype_mismatch, "'" + from.key + "' is " + std::string(name(from.dtype)) +
                                       ", and '" + to.key + "' " + std::string(name(to.dtype)));
    if (may_share_memory(source.tensor, target.tensor))
        fail(errc::memory_overlap, "'" + from.key + "' " + to_string(from.region) + " and '" +
                                       to.key + "' " + to_string(to.region) +
                                       " share memory; give the target memory of its own");
}

RESHARD_DECL shard_table table_of(shard_descriptor const& shard) {
    shard_table table(shard.global_shape.size());
    table.push_back(0, shard.region, shard.flat, shard.cycles);
    return table;
}

RESHARD_DECL index_t copy_shared(const_local_shard const& source, local_shard const& target) {
    check_pair(source, target);
    shard_table const from = table_of(source.descriptor);
    shard_table const to = table_of(target.descriptor);
    std::vector<box> const wanted = to.boxes(0);
    index_t copied = 0;
    for (box const& source_box : from.boxes(0))
        for (box const& target_box : wanted)
            if (auto const common = intersect(source_box, target_box)) {
                auto const read = place_in_shard(from, 0, common->offset, source.tensor.strides);
                auto const write = place_in_shard(to, 0, common->offset, target.tensor.strides);
                copy_elements(
                    {common->shape, read.offset, read.strides, write.offset, write.strides},
                    {source.descriptor.dtype, {}}, source.tensor.data, target.tensor.data);
                copied += element_count(*common);
            }
    return copied;
}

} // namespace reshard::detail

#endif
