// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_HOLDERS_OF_HPP
#define RESHARD_LAYOUT_HOLDERS_OF_HPP

#include <reshard/layout/distribution.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

/// \file
/// From a box to the ranks that hold some of it, by arithmetic.

namespace reshard {

/// Which of equal shards to visit.
enum class copies {
    all,
    main, ///< of each different shard the one of the lowest rank
};

namespace detail {

/// The numbers `first <= i < last`.
struct part_range {
    index_t first;
    index_t last;
};

/// The parts of `count` that have one of the blocks from `first` to `last`: each from 0 up to the
/// first number, and from the second one up to the third.
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

/// Which parts of `held`, cut as `how` says, overlap the elements from `begin` to `end`.
///
/// If all sizes are positive, each part does.
///
/// \pre blocks are not cyclic, and the requested box is not empty and overlaps `held`
constexpr part_range parts_between(placement const& how, interval held, index_t count,
                                   interval wanted) {
    index_t const begin = std::max(wanted.offset, held.offset) - held.offset;
    index_t const last =
        std::min(wanted.offset + wanted.extent, held.offset + held.extent) - held.offset - 1;
    if (how.what != placement::kind::sizes) {
        index_t const most = interval_of(how, held.extent, count, 0).extent;
        return {begin / most, last / most + 1};
    }
    part_range found{count, 0};
    index_t offset = 0;
    for (index_t i = 0; i < count && offset <= last; ++i) {
        offset += how.sizes[static_cast<std::size_t>(i)];
        if (offset > begin)
            found = {std::min(found.first, i), i + 1};
    }
    return found;
}

/// Visits the coordinates of a mesh that hold some of a box, mesh axis after mesh axis.
///
/// Along an axis of `at_zero`, only coordinate 0 is visited.
template <class Visit>
class holder_walk {
public:
    constexpr holder_walk(distribution const& how, box const& wanted, axis_set at_zero,
                          Visit const& visit)
        : how_(how),
          wanted_(wanted),
          at_zero_(at_zero),
          visit_(visit),
          order_(cut_order(how.placements())),
          strides_(row_major_strides(how.ranks().shape())) {}

    constexpr void run() const { from(0, whole(how_.shape()), 0); }

private:
    constexpr void from(std::size_t depth, box const& held, index_t place) const {
        if (depth == order_.size())
            return visit_(static_cast<holder_t>(place), held);
        auto const i = static_cast<std::size_t>(order_[depth]);
        placement const& how = how_.placements()[i];
        if (how.cuts())
            return cut(depth, held, place);
        bool const is_only = how.what == placement::kind::only;
        index_t const first = is_only ? how.coordinate : 0;
        index_t const last =
            is_only || has_axis(at_zero_, i) ? first + 1 : how_.ranks().all_axes[i].extent;
        for (index_t at = first; at < last; ++at)
            from(depth + 1, held, place + at * strides_[i]);
    }

    constexpr void cut(std::size_t depth, box const& held, index_t place) const {
        auto const i = static_cast<std::size_t>(order_[depth]);
        placement const& how = how_.placements()[i];
        index_t const count = how_.ranks().all_axes[i].extent;
        interval const along{held.offset[how.axis], held.shape[how.axis]};
        if (how.what == placement::kind::cyclic)
            return deal(depth, held, place);
        auto const [first, last] =
            parts_between(how, along, count, {wanted_.offset[how.axis], wanted_.shape[how.axis]});
        interval share = interval_of(how, along.extent, count, first);
        for (index_t at = first; at < last; ++at, share = behind(share, how, along.extent, at)) {
            box rest = held;
            rest.offset[how.axis] += share.offset;
            rest.shape[how.axis] = share.extent;
            if (share.extent > 0)
                from(depth + 1, rest, place + at * strides_[i]);
        }
    }

    /// As `cut`, for cyclic blocks.
    constexpr void deal(std::size_t depth, box const& held, index_t place) const {
        auto const i = static_cast<std::size_t>(order_[depth]);
        placement const& how = how_.placements()[i];
        index_t const count = how_.ranks().all_axes[i].extent;
        index_t const offset = held.offset[how.axis];
        index_t const begin = std::max(wanted_.offset[how.axis], offset) - offset;
        index_t const last = std::min(wanted_.end(how.axis), held.end(how.axis)) - offset - 1;
        auto const visit = [&](index_t at) {
            auto const share = interval_of(how, held.shape[how.axis], count, at);
            box rest = held;
            rest.offset[how.axis] += share.offset;
            rest.shape[how.axis] = share.extent;
            from(depth + 1, rest, place + at * strides_[i]);
        };
        auto const dealt = parts_of_blocks(begin / how.block, last / how.block, count);
        for (index_t at = 0; at < dealt.wrapped_end; ++at)
            visit(at);
        for (index_t at = dealt.first; at < dealt.end; ++at)
            visit(at);
    }

    /// Part `i` of an extent, which follows `share`; its value after the last part does not matter.
    static constexpr interval behind(interval share, placement const& how, index_t extent,
                                     index_t i) {
        index_t const offset = share.offset + share.extent;
        if (how.what != placement::kind::sizes)
            return {offset, std::min(share.extent, extent - offset)};
        auto const place = static_cast<std::size_t>(i);
        return {offset, place < how.sizes.size() ? how.sizes[place] : 0};
    }

    distribution const& how_;
    box const& wanted_;
    axis_set at_zero_;
    Visit const& visit_;
    index_vector order_;
    index_vector strides_;
};

/// The mesh axes along which a distribution has copies.
constexpr axis_set replicating_axes(distribution const& how) {
    unsigned axes = 0;
    for (std::size_t i = 0; i < how.placements().size(); ++i)
        if (how.placements()[i].what == placement::kind::replicate)
            axes |= 1u << i;
    return static_cast<axis_set>(axes);
}

/// Calls `visit(rank, region)` for each rank that holds elements of `wanted`. For cyclic blocks,
/// `how.cycles_in(region)` are the rank's.
///
/// Takes time in proportion to the number of calls, and to the number of explicit sizes of a
/// placement. Ranks come in the order of their positions, which is ascending unless a placement is
/// strided or the ranks are listed.
///
/// \pre `wanted` lies in the tensor
constexpr void for_each_holder(distribution const& how, box const& wanted, copies which,
                               auto const& visit) {
    BOOST_ASSERT(contains(whole(how.shape()), wanted));
    if (is_empty(wanted))
        return;
    auto const visit_rank = [&](holder_t place, box const& region) {
        visit(how.held_by().rank_at(place), region);
    };
    axis_set const at_zero = which == copies::main ? replicating_axes(how) : axis_set{};
    holder_walk(how, wanted, at_zero, visit_rank).run();
}

} // namespace detail

/// The ranks whose regions share elements with `wanted`, ascending.
///
/// \pre  `wanted` lies in the tensor
/// \post `how.region(rank)` overlaps `wanted` if and only if `rank` is one of them (`copies::all`)
constexpr std::vector<holder_t> holders_of(distribution const& how, box const& wanted,
                                           copies which = copies::all) {
    std::vector<holder_t> ranks;
    detail::for_each_holder(how, wanted, which,
                            [&ranks](holder_t rank, box const&) { ranks.push_back(rank); });
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

} // namespace reshard

#endif
