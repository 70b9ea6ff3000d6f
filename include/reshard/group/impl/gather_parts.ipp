// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_GATHER_PARTS_IPP
#define RESHARD_GROUP_IMPL_GATHER_PARTS_IPP

#include <reshard/group/gather_parts.hpp>

namespace reshard::detail {

RESHARD_DECL void check_part(local_part const& local) {
    if (local.key.empty())
        fail(errc::bad_layout, "a tensor of shape ", local.shape, " has no key");
    if (local.axis && *local.axis >= local.shape.size())
        fail(errc::shape_mismatch, "'", local.key, "': axis ", *local.axis,
             " is out of range for a tensor of shape ", local.shape);
    for (std::size_t axis = 0; axis < local.shape.size(); ++axis)
        if (local.shape[axis] < 0)
            fail(errc::bad_layout, "'", local.key, "': axis ", axis, " has the extent ",
                 local.shape[axis]);
}

RESHARD_DECL void check_same_tensor(local_part const& first, local_part const& other_part,
                                    std::size_t rank) {
    auto const disagreement = [&](std::string const& noun, std::string const& name,
                                  std::string const& two) {
        return "'" + first.key + "' has " + noun + " " + name + " on rank 0 and " + two +
               " on rank " + std::to_string(rank);
    };
    if (first.dtype != other_part.dtype)
        fail(errc::dtype_mismatch, disagreement("the data type", std::string(name(first.dtype)),
                                                std::string(name(other_part.dtype))));
    auto const axis_name = [](local_part const& local) {
        return local.axis ? "shards along axis " + std::to_string(*local.axis)
                          : std::string("copies");
    };
    if (first.axis != other_part.axis)
        fail(errc::shape_mismatch, disagreement("local", axis_name(first), axis_name(other_part)));
    index_vector expected = first.shape;
    if (first.axis && expected.size() == other_part.shape.size())
        expected[*first.axis] = other_part.shape[*first.axis];
    if (expected != other_part.shape)
        fail(errc::shape_mismatch,
             disagreement("a shard of shape", to_string(first.shape), to_string(other_part.shape)),
             first.axis ? "; shapes may differ only along axis " + std::to_string(*first.axis)
                        : "; copies must have equal shapes");
}

RESHARD_DECL void check_same_keys(vector<local_part> const& first, vector<local_part> const& parts,
                                  std::size_t rank) {
    for (std::size_t i = 0; i < std::max(first.size(), parts.size()); ++i) {
        bool const only_first =
            i >= parts.size() || (i < first.size() && first[i].key < parts[i].key);
        if (!only_first && i < first.size() && first[i].key == parts[i].key)
            continue;
        std::string const there = "rank " + std::to_string(rank);
        fail(errc::ranks_disagree, "'", (only_first ? first : parts)[i].key, "' is on ",
             only_first ? "rank 0 but not on " + there : there + " but not on rank 0",
             "; every rank of the group must have a shard of each tensor");
    }
}

RESHARD_DECL shard_descriptor place_part(vector<vector<local_part>> const& parts, std::size_t rank,
                                         std::size_t i) {
    local_part const& local_part = parts[rank][i];
    shard_descriptor shard{
        local_part.key, local_part.dtype, local_part.shape, whole(local_part.shape), {}};
    if (local_part.axis) {
        index_t& extent = shard.global_shape[*local_part.axis] = 0;
        for (std::size_t other = 0; other < parts.size(); ++other) {
            if (other == rank)
                shard.region.offset[*local_part.axis] = extent;
            extent = checked_add(extent, parts[other][i].shape[*local_part.axis],
                                 "the extents of '" + local_part.key + "'");
        }
    }
    check(shard);
    return shard;
}

} // namespace reshard::detail

#endif
