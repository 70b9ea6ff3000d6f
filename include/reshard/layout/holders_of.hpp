// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_HOLDERS_OF_HPP
#define RESHARD_LAYOUT_HOLDERS_OF_HPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/distribution.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>

/// \file
/// Computes the ranks that hold elements of a box.

namespace reshard {

/// Which replicas of a shard to visit.
enum class copies {
    all,
    main, ///< of each shard, only the replica of the lowest rank
};

namespace detail {

/// The numbers from `first` to `last - 1`.
struct part_range {
    index_t first;
    index_t last;
};

/// The parts, out of `count`, that have one of the blocks `first` to `last`: parts 0 to
/// `wrapped_end - 1`, and parts `first` to `end - 1`.
struct dealt_parts {
    index_t wrapped_end;
    index_t first;
    index_t end;
};

constexpr dealt_parts parts_of_blocks(index_t first, index_t last, index_t count) {
    if (last - first >= count - 1)
        return {0, 0, count};
    if (last % count < first % count)
        return {last % count + 1, first % count, count};
    return {0, first % count, last % count + 1};
}

/// The parts of `held_interval`, cut as `placement` says, from the first to the last part that
/// overlaps `wanted`.
///
/// If all sizes are positive, each of these parts overlaps `wanted`.
///
/// \pre blocks are not cyclic; `wanted` is not empty and overlaps `held_interval`
constexpr part_range parts_between(placement const& placement, interval held_interval,
                                   index_t count, interval wanted) {
    index_t const begin = std::max(wanted.offset, held_interval.offset) - held_interval.offset;
    index_t const last =
        std::min(wanted.offset + wanted.extent, held_interval.offset + held_interval.extent) -
        held_interval.offset - 1;
    if (placement.type != placement::kind::sizes) {
        index_t const most = interval_of(placement, held_interval.extent, count, 0).extent;
        return {begin / most, last / most + 1};
    }
    part_range part_range{count, 0};
    index_t offset = 0;
    for (index_t i = 0; i < count && offset <= last; ++i) {
        offset += placement.sizes[static_cast<std::size_t>(i)];
        if (offset > begin)
            part_range = {std::min(part_range.first, i), i + 1};
    }
    return part_range;
}

/// Visits the coordinates of a mesh that hold elements of a box, one mesh axis after the other.
///
/// Visits only coordinate 0 along the mesh axes in `at_zero`.
template <class Visit>
class holder_walk {
public:
    constexpr holder_walk(distribution const& distribution, box const& wanted, axis_set at_zero,
                          Visit const& visit)
        : how_(distribution),
          wanted_(wanted),
          at_zero_(at_zero),
          visit_(visit),
          order_(cut_order(distribution.placements())),
          strides_(row_major_strides(distribution.ranks().shape())) {}

    constexpr void run() const { from(0, whole(how_.shape()), 0); }

private:
    constexpr void from(std::size_t depth, box const& box, index_t index) const {
        if (depth == order_.size())
            return visit_(static_cast<holder_t>(index), box);
        auto const i = static_cast<std::size_t>(order_[depth]);
        placement const& placement = how_.placements()[i];
        if (placement.cuts())
            return cut(depth, box, index);
        bool const is_only = placement.type == placement::kind::only;
        index_t const first = is_only ? placement.coordinate : 0;
        index_t const last =
            is_only || has_axis(at_zero_, i) ? first + 1 : how_.ranks().all_axes[i].extent;
        for (index_t at = first; at < last; ++at)
            from(depth + 1, box, index + at * strides_[i]);
    }

    constexpr void cut(std::size_t depth, box const& held_box, index_t index) const {
        auto const i = static_cast<std::size_t>(order_[depth]);
        placement const& placement = how_.placements()[i];
        index_t const count = how_.ranks().all_axes[i].extent;
        interval const along{held_box.offset[placement.axis], held_box.shape[placement.axis]};
        if (placement.type == placement::kind::cyclic)
            return deal(depth, held_box, index);
        auto const [first, last] =
            parts_between(placement, along, count,
                          {wanted_.offset[placement.axis], wanted_.shape[placement.axis]});
        interval share = interval_of(placement, along.extent, count, first);
        for (index_t at = first; at < last;
             ++at, share = behind(share, placement, along.extent, at)) {
            box box = held_box;
            box.offset[placement.axis] += share.offset;
            box.shape[placement.axis] = share.extent;
            if (share.extent > 0)
                from(depth + 1, box, index + at * strides_[i]);
        }
    }

    /// Like `cut`, for cyclic blocks.
    constexpr void deal(std::size_t depth, box const& held_box, index_t index) const {
        auto const i = static_cast<std::size_t>(order_[depth]);
        placement const& placement = how_.placements()[i];
        index_t const count = how_.ranks().all_axes[i].extent;
        index_t const offset = held_box.offset[placement.axis];
        index_t const begin = std::max(wanted_.offset[placement.axis], offset) - offset;
        index_t const last =
            std::min(wanted_.end(placement.axis), held_box.end(placement.axis)) - offset - 1;
        auto const visit = [&](index_t at) {
            auto const share = interval_of(placement, held_box.shape[placement.axis], count, at);
            box box = held_box;
            box.offset[placement.axis] += share.offset;
            box.shape[placement.axis] = share.extent;
            from(depth + 1, box, index + at * strides_[i]);
        };
        auto const dealt = parts_of_blocks(begin / placement.block + placement.coordinate,
                                           last / placement.block + placement.coordinate, count);
        for (index_t at = 0; at < dealt.wrapped_end; ++at)
            visit(at);
        for (index_t at = dealt.first; at < dealt.end; ++at)
            visit(at);
    }

    /// Part `i` of an extent, given part `i - 1` as `share`. After the last part, the result has no
    /// meaning.
    static constexpr interval behind(interval share, placement const& placement, index_t extent,
                                     index_t i) {
        index_t const offset = share.offset + share.extent;
        if (placement.type != placement::kind::sizes)
            return {offset, std::min(share.extent, extent - offset)};
        auto const index = static_cast<std::size_t>(i);
        return {offset, index < placement.sizes.size() ? placement.sizes[index] : 0};
    }

    distribution const& how_;
    box const& wanted_;
    axis_set at_zero_;
    Visit const& visit_;
    index_vector order_;
    index_vector strides_;
};

/// The mesh axes along which a distribution replicates.
constexpr axis_set replicating_axes(distribution const& distribution) {
    unsigned axes = 0;
    for (std::size_t i = 0; i < distribution.placements().size(); ++i)
        if (distribution.placements()[i].type == placement::kind::replicate)
            axes |= 1u << i;
    return static_cast<axis_set>(axes);
}

/// Calls `visit(rank, region)` for each rank that holds elements of `wanted`. If blocks are cyclic,
/// `distribution.cycles_in(region)` gives the blocks that the rank holds.
///
/// The time is proportional to the number of calls, and to the number of explicit sizes of a
/// placement. Ranks are visited in the order of their mesh positions. This order is ascending
/// unless a placement is strided or the ranks are listed.
///
/// \pre the tensor contains `wanted`
constexpr void for_each_holder(distribution const& distribution, box const& wanted, copies which,
                               auto const& visit) {
    BOOST_ASSERT(contains(whole(distribution.shape()), wanted));
    if (is_empty(wanted))
        return;
    auto const visit_rank = [&](holder_t index, box const& region) {
        visit(distribution.held_by().rank_at(index), region);
    };
    axis_set const at_zero = which == copies::main ? replicating_axes(distribution) : axis_set{};
    holder_walk(distribution, wanted, at_zero, visit_rank).run();
}

} // namespace detail

/// The ranks whose regions share elements with `wanted`, in ascending order.
///
/// \pre  the tensor contains `wanted`
/// \post for `copies::all`, the result contains `rank` if and only if `distribution.region(rank)`
///       overlaps `wanted`
constexpr vector<holder_t> holders_of(distribution const& distribution, box const& wanted,
                                      copies which = copies::all) {
    vector<holder_t> ranks;
    detail::for_each_holder(distribution, wanted, which,
                            [&ranks](holder_t rank, box const&) { ranks.push_back(rank); });
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

} // namespace reshard

#endif
