// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_IMPL_ZERO_IPP
#define RESHARD_MODEL_IMPL_ZERO_IPP

#include <reshard/model/zero.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// The coordinate of a distribution's `only` placement along an axis; -1 if it has none.
inline index_t kept_at(distribution const& distribution, std::string_view axis) {
    auto const i = find_axis(distribution.ranks(), axis);
    if (!i || distribution.placements()[*i].type != placement::kind::only)
        return -1;
    return distribution.placements()[*i].coordinate;
}

RESHARD_DECL buffer_group group_of(sharding_part const& segment, data_type dtype) {
    return {find_axis(segment.spread.ranks(), "edp").has_value(), kept_at(segment.spread, "pp"),
            kept_at(segment.spread, "ep"), dtype};
}

RESHARD_DECL holder_t first_holder(distribution const& distribution) {
    index_vector at;
    for (placement const& each : distribution.placements())
        at.push_back(each.coordinate);
    return distribution.ranks().rank_at(at);
}

/// The data-parallel ranks of a part's mesh, which share the part.
inline sharing_ranks data_ranks(sharding_part const& segment) {
    return {segment.spread.ranks(), data_axes(segment.spread.ranks())};
}

RESHARD_DECL group_table::group_table(vector<tensor_sharding> const& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
        add(tensors[i], i);
}

RESHARD_DECL void group_table::add(tensor_sharding const& tensor, std::size_t number) {
    std::map<holder_t, index_t> stored;
    begins_.emplace_back();
    for (sharding_part const& segment : tensor.parts) {
        index_t& end = stored[first_holder(segment.spread)];
        begins_.back().push_back(end);
        end = checked_add(end, element_count(largest_region(segment.spread)));
        auto& members = groups_[group_of(segment, tensor.dtype)];
        if (members.empty() || members.back().tensor != number)
            members.push_back({number, 0});
        members.back().elements = std::max(members.back().elements, end);
    }
}

RESHARD_DECL vector<std::size_t> parts_in(tensor_sharding const& tensor,
                                          buffer_group const& group) {
    vector<std::size_t> segments;
    for (std::size_t i = 0; i < tensor.parts.size(); ++i)
        if (group_of(tensor.parts[i], tensor.dtype) == group)
            segments.push_back(i);
    return segments;
}

} // namespace reshard::detail

namespace reshard::model {

RESHARD_DECL vector<index_t> least_loaded_owners(vector<named_size> const& tensors, index_t ranks) {
    if (ranks < 1)
        fail(errc::bad_layout, detail::counted(tensors.size(), "tensor"),
             " cannot be distributed over ", detail::counted(ranks, "rank"));
    vector<std::size_t> order(tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple(-tensors[a].elements, tensors[a].key, a) <
               std::tuple(-tensors[b].elements, tensors[b].key, b);
    });
    using load = std::pair<index_t, index_t>; // elements, rank
    std::priority_queue<load, vector<load>, std::greater<>> loads;
    index_t idle = 0; // ranks from here on have no tensors yet
    vector<index_t> owners(tensors.size());
    for (std::size_t const i : order) {
        load least{0, idle};
        if (idle < ranks && (loads.empty() || loads.top() > least))
            ++idle;
        else {
            least = loads.top();
            loads.pop();
        }
        owners[i] = least.second;
        loads.push({detail::checked_add(least.first, tensors[i].elements), least.second});
    }
    return owners;
}

} // namespace reshard::model

namespace reshard::detail {

RESHARD_DECL vector<index_t> sizes_of(vector<group_member> const& members) {
    vector<index_t> sizes;
    for (group_member const& member : members)
        sizes.push_back(member.elements);
    return sizes;
}

RESHARD_DECL index_t sharing_count(vector<tensor_sharding> const& tensors,
                                   buffer_group const& group, group_member const& member) {
    tensor_sharding const& tensor = tensors[member.tensor];
    return data_ranks(tensor.parts[parts_in(tensor, group).front()]).count();
}

/// The same distribution, except that only data-parallel rank `owner` holds elements.
inline distribution held_by(distribution const& distribution, index_t owner, std::string_view key) {
    vector<placement> placements = distribution.placements();
    for (std::size_t i = distribution.ranks().ndim(); i-- > 0;) {
        if (!has_axis(data_axes(distribution.ranks()), i))
            continue;
        index_t const extent = distribution.ranks().all_axes[i].extent;
        if (placements[i].type != placement::kind::replicate)
            fail(errc::bad_layout, "'", key, "': mesh axis '",
                 distribution.ranks().all_axes[i].name(),
                 "' distributes whole tensors, so it must replicate, not ", placements[i]);
        placements[i] = only{owner % extent};
        owner /= extent;
    }
    return {distribution.ranks(), std::move(placements), distribution.shape(), key};
}

} // namespace reshard::detail

namespace reshard::model {

RESHARD_DECL vector<tensor_sharding> shard_slices(vector<tensor_sharding> tensors,
                                                  index_t largest_whole) {
    detail::group_table const table(tensors);
    for (auto const& [group, members] : table.groups())
        for (detail::group_member const& member : members) {
            if (member.elements <= largest_whole)
                continue;
            tensor_sharding& tensor = tensors[member.tensor];
            index_t const ranks = detail::sharing_count(tensors, group, member);
            for (std::size_t const n : detail::parts_in(tensor, group)) {
                detail::flat_sharing flat{detail::data_axes(tensor.parts[n].spread.ranks()),
                                          std::nullopt};
                if (tensor.parts.size() > 1)
                    flat.slices = {table.begin_of(member.tensor, n),
                                   detail::padded_slices(member.elements, ranks).length};
                tensor.parts[n].flat = flat;
            }
        }
    for (tensor_sharding const& tensor : tensors)
        check(tensor);
    return tensors;
}

RESHARD_DECL vector<tensor_sharding> shard_whole(vector<tensor_sharding> tensors) {
    detail::group_table const table(tensors);
    for (auto const& [group, members] : table.groups()) {
        vector<named_size> sizes;
        for (detail::group_member const& member : members)
            sizes.push_back({tensors[member.tensor].key, member.elements});
        auto const owners =
            least_loaded_owners(sizes, detail::sharing_count(tensors, group, members.front()));
        for (std::size_t i = 0; i < members.size(); ++i) {
            tensor_sharding& tensor = tensors[members[i].tensor];
            for (std::size_t const n : detail::parts_in(tensor, group))
                tensor.parts[n].spread =
                    detail::held_by(tensor.parts[n].spread, owners[i], tensor.key);
        }
    }
    return tensors;
}

} // namespace reshard::model

#endif
