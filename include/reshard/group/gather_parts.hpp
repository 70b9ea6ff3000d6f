// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_GATHER_PARTS_HPP
#define RESHARD_GROUP_GATHER_PARTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/descriptor.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

/// \file
/// Finds the tensor that the parts of all ranks form. Parts may have different extents.

namespace reshard::detail {

/// A rank's part of a tensor.
struct local_part {
    std::string key;
    data_type dtype{};
    index_vector shape;                   ///< the shape of this rank's part
    std::optional<std::size_t> axis = {}; ///< the axis along which the parts follow each other;
                                          ///< std::nullopt: every rank has a copy

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.shape, self.axis);
    }

    bool operator==(local_part const&) const = default;
};

RESHARD_DECL void check_part(local_part const& local);

/// Throws if two parts with one key cannot belong to one tensor. `rank` has the second part.
RESHARD_DECL void check_same_tensor(local_part const& first, local_part const& local_part,
                                    std::size_t rank);

/// Throws if two lists have different keys. `rank` has the second list.
RESHARD_DECL void check_same_keys(vector<local_part> const& first, vector<local_part> const& parts,
                                  std::size_t rank);

/// The descriptor of part number `i` of rank `rank`. `parts` are the parts of all ranks.
RESHARD_DECL shard_descriptor place_part(vector<vector<local_part>> const& parts, std::size_t rank,
                                         std::size_t i);

/// The descriptors of this rank's parts, in order. Ranks exchange their parts.
///
/// The group consists of the ranks that share the tensors, such as a tensor-parallel group. Parts
/// may have different extents along the axis along which they are cut, and may be empty.
///
/// \par Collective every rank of the group, in the same order; the order of parts does not matter
/// \throws     error on every rank: with errc::shape_mismatch, errc::dtype_mismatch or
///             errc::ranks_disagree if parts do not belong to one tensor (the message names the key
///             and the ranks); errc::shape_mismatch for an axis that is out of range;
///             errc::bad_layout for a missing or duplicate key or a negative extent; errc::overflow
///             if the extents of a tensor's parts add up to too much
/// \par Source `shard_weight` of PaddlePaddle, which assumes that all parts have the same shape and
///             does not communicate
vector<shard_descriptor> gather_parts(group auto const& world, vector<local_part> const& tensors) {
    vector<std::uint32_t> order(tensors.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
        order[i] = i;
    sort_numbers(order,
                 [&](std::uint32_t a, std::uint32_t b) { return tensors[a].key < tensors[b].key; });
    vector<local_part> sorted;
    local_error const problem = attempt([&] {
        for (std::uint32_t const i : order) {
            check_part(tensors[i]);
            if (!sorted.empty() && sorted.back().key == tensors[i].key)
                fail(errc::bad_layout, "'", tensors[i].key, "' appears twice on one rank");
            sorted.push_back(tensors[i]);
        }
    });
    agree_to_run(world, "gather_parts", 0, problem);
    auto const values = gather_values(world, sorted);
    for (std::size_t rank = 1; rank < values.size(); ++rank) {
        check_same_keys(values[0], values[rank], rank);
        for (std::size_t i = 0; i < values[0].size(); ++i)
            check_same_tensor(values[0][i], values[rank][i], rank);
    }
    vector<shard_descriptor> shards(tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        shards[order[i]] = place_part(values, static_cast<std::size_t>(world.rank()), i);
    return shards;
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/gather_parts.ipp>
#endif

#endif
