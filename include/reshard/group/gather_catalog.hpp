// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_GATHER_CATALOG_HPP
#define RESHARD_GROUP_GATHER_CATALOG_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/layout/descriptor.hpp>

#include <string>
#include <vector>

/// \file
/// What all ranks hold, as a program sees it: keys, shapes, data types and cuts, but no shards.

namespace reshard::detail {

/// A tensor as one rank sees it: where its shards of it begin.
struct cut_tensor {
    std::string key;
    data_type dtype{};
    index_vector shape;                       ///< global
    std::vector<std::vector<index_t>> begins; ///< along each axis, ascending, each once

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.shape, self.begins);
    }
};

/// The tensors of some shards, in the order of their keys.
///
/// \throws error with errc::shape_mismatch or errc::dtype_mismatch for one key that is two tensors
RESHARD_DECL std::vector<cut_tensor> cuts_of(std::vector<shard_descriptor> const& shards);

/// The catalog of what all ranks hold; element `r` is that of rank `r`.
///
/// \throws error with errc::shape_mismatch or errc::dtype_mismatch for one key that is two tensors;
///         it names both ranks
RESHARD_DECL catalog merge_cuts(std::vector<std::vector<cut_tensor>> const& ranks);

/// The catalog of what all ranks hold, equal on every rank, and equal to that of their layout. A
/// rank tells a few numbers a tensor, however many shards there are.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike, as `merge_cuts`
template <group Group>
catalog gather_catalog(Group const& world, std::vector<shard_descriptor> const& shards) {
    std::vector<cut_tensor> mine;
    agree_on(world, [&] { mine = cuts_of(shards); });
    return merge_cuts(gather_values(world, mine));
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/gather_catalog.ipp>
#endif

#endif
