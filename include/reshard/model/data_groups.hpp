// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_DATA_GROUPS_HPP
#define RESHARD_MODEL_DATA_GROUPS_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/shards_of.hpp>
#include <reshard/model/rank_group.hpp>

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

/// \file
/// Which tensors the same data-parallel ranks share, and how much of each a rank stores.

namespace reshard::detail {

/// The axes of a mesh along which data-parallel ranks stand: those of `dp`, `cp` and `edp` that
/// there are.
constexpr detail::axis_set data_axes(mesh const& ranks) {
    unsigned axes = 0;
    for (std::string_view const name : {"dp", "cp", "edp"})
        if (auto const axis = find_axis(ranks, name))
            axes |= 1u << *axis;
    return static_cast<detail::axis_set>(axes);
}

/// Ranks whose tensors lie in common buffers: of one stage, of one expert-parallel rank, of one
/// data type.
struct buffer_group {
    bool is_expert = false;
    index_t stage = 0;  ///< -1: on each
    index_t expert = 0; ///< expert-parallel rank; -1: no experts
    data_type dtype{};

    auto operator<=>(buffer_group const&) const = default;
};

RESHARD_DECL buffer_group group_of(sharding_part const& segment, data_type dtype);

/// The lowest rank that holds some of a distribution.
RESHARD_DECL holder_t first_holder(distribution const& how);

/// A tensor in a group: how many elements of it each rank stores.
struct group_member {
    std::size_t tensor = 0;
    index_t elements = 0;
};

/// The ranks of a group's mesh that share its tensors.
RESHARD_DECL sharing_ranks data_ranks(sharding_part const& segment);

/// The tensors of each group, in order, and where in a rank's memory of its tensor each part
/// begins.
class group_table {
public:
    explicit group_table(std::vector<tensor_sharding> const& tensors);

    std::map<buffer_group, std::vector<group_member>> const& groups() const { return groups_; }

    /// The element of its tensor, as a rank stores it, with which part `segment` of tensor `tensor`
    /// begins.
    index_t begin_of(std::size_t tensor, std::size_t segment) const {
        return begins_[tensor][segment];
    }

private:
    void add(tensor_sharding const& tensor, std::size_t number);

    std::map<buffer_group, std::vector<group_member>> groups_;
    std::vector<std::vector<index_t>> begins_;
};

/// The numbers of a tensor's parts that belong to a group.
RESHARD_DECL std::vector<std::size_t> parts_in(tensor_sharding const& tensor,
                                               buffer_group const& group);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/data_groups.ipp>
#endif

#endif
