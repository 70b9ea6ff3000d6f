// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_IMPL_DATA_GROUPS_IPP
#define RESHARD_MODEL_IMPL_DATA_GROUPS_IPP

#include <reshard/model/data_groups.hpp>

#include <algorithm>

namespace reshard::detail {

/// The coordinate along an axis at which alone a distribution holds something, or -1.
inline index_t kept_at(distribution const& how, std::string_view axis) {
    auto const i = find_axis(how.ranks(), axis);
    if (!i || how.placements()[*i].what != placement::kind::only)
        return -1;
    return how.placements()[*i].coordinate;
}

RESHARD_DECL buffer_group group_of(sharding_part const& segment, data_type dtype) {
    return {find_axis(segment.how.ranks(), "edp").has_value(), kept_at(segment.how, "pp"),
            kept_at(segment.how, "ep"), dtype};
}

RESHARD_DECL holder_t first_holder(distribution const& how) {
    index_vector at;
    for (placement const& each : how.placements())
        at.push_back(each.coordinate);
    return how.ranks().rank_at(at);
}

RESHARD_DECL sharing_ranks data_ranks(sharding_part const& segment) {
    return {segment.how.ranks(), data_axes(segment.how.ranks())};
}

RESHARD_DECL group_table::group_table(std::vector<tensor_sharding> const& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
        add(tensors[i], i);
}

RESHARD_DECL void group_table::add(tensor_sharding const& tensor, std::size_t number) {
    std::map<holder_t, index_t> stored;
    begins_.emplace_back();
    for (sharding_part const& segment : tensor.parts) {
        index_t& end = stored[first_holder(segment.how)];
        begins_.back().push_back(end);
        end = checked_add(end, element_count(largest_region(segment.how)));
        auto& members = groups_[group_of(segment, tensor.dtype)];
        if (members.empty() || members.back().tensor != number)
            members.push_back({number, 0});
        members.back().elements = std::max(members.back().elements, end);
    }
}

RESHARD_DECL std::vector<std::size_t> parts_in(tensor_sharding const& tensor,
                                               buffer_group const& group) {
    std::vector<std::size_t> segments;
    for (std::size_t i = 0; i < tensor.parts.size(); ++i)
        if (group_of(tensor.parts[i], tensor.dtype) == group)
            segments.push_back(i);
    return segments;
}

} // namespace reshard::detail

#endif
