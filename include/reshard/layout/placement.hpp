// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_PLACEMENT_HPP
#define RESHARD_LAYOUT_PLACEMENT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/members.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/holder.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <utility>

/// \file
/// How a mesh axis distributes a tensor: cuts an axis, copies it, or keeps it at one coordinate.

namespace reshard {

/// Every coordinate of the mesh axis holds a copy.
struct replicate {
    constexpr bool operator==(replicate const&) const = default;
};

/// Only one coordinate of the mesh axis holds the tensor, such as a pipeline stage or an expert.
struct only {
    index_t coordinate = 0;

    constexpr bool operator==(only const&) const = default;
};

namespace detail {

/// How an extent is cut.
enum class split_rule {
    ceil, ///< parts of extent / parts elements, rounded up; the last parts may be shorter or empty
    even, ///< equal parts; the number of parts must divide the extent
};

} // namespace detail

/// Equal parts, as in `shard{0, even}`; the number of parts must divide the extent.
inline constexpr auto even = detail::split_rule::even;

/// The mesh axis cuts that axis of the tensor: `shard{0}`, `shard{0, even}`, or
/// `shard{0, {3, 4, 1}}` with the extents of the parts, one for each rank along the mesh axis.
///
/// A structural type, so that it may be a template argument. For sizes known only at run time, use
/// `placement(axis, sizes)`.
///
/// \par Units  elements
/// \par Source `Shard` of PyTorch's DTensor, which always rounds up
template <std::size_t Sizes = 0>
struct shard {
    std::size_t axis = 0;
    detail::split_rule rule = detail::split_rule::ceil; ///< used if no sizes are given
    std::array<index_t, Sizes> sizes{};

    constexpr shard() = default;
    constexpr explicit shard(std::size_t tensor_axis) : axis(tensor_axis) {}
    constexpr shard(std::size_t tensor_axis, std::same_as<detail::split_rule> auto parts)
        : axis(tensor_axis), rule(parts) {}
    template <std::size_t N>
    constexpr shard(std::size_t tensor_axis, index_t const (&extents)[N])
        : axis(tensor_axis), sizes(std::to_array(extents)) {}

    constexpr bool operator==(shard const&) const = default;
};

template <std::size_t N>
shard(std::size_t, index_t const (&)[N]) -> shard<N>;

/// Like `shard`, but cuts the parts that remain after all mesh axes that are not strided.
///
/// \par Source `_StridedShard` of PyTorch's DTensor, which FSDP over tensor parallelism makes;
///             there it has a split factor, which here follows from the mesh
struct strided_shard {
    std::size_t axis = 0;
    detail::split_rule rule = detail::split_rule::ceil;

    constexpr bool operator==(strided_shard const&) const = default;
};

/// The mesh axis cuts that axis of the tensor into blocks of equal extents; the last may be
/// shorter. Block `b` goes to coordinate `(first + b) mod P` of `P` coordinates.
///
/// A rank stores its blocks next to each other, in one array. No later placement may cut that axis.
///
/// \par Units  elements
/// \par Source ScaLAPACK's two-dimensional block-cyclic distribution, one placement for each of its
///             two axes; local extents equal those of `numroc`, and `first` is its RSRC or CSRC
struct block_cyclic {
    std::size_t axis = 0;
    index_t block = 1;
    index_t first = 0; ///< the coordinate that has the first block

    constexpr bool operator==(block_cyclic const&) const = default;
};

/// Any kind of placement, as a value.
///
/// \par Units `sizes` and `block` in elements
struct placement {
    enum class kind { replicate, only, ceil, equal, sizes, cyclic };

    kind type = kind::replicate;
    std::size_t axis = 0;   ///< the axis of the tensor that is cut
    index_t coordinate = 0; ///< the coordinate of `only`, or of the first cyclic block
    bool strided = false;   ///< cuts after the mesh axes that are not strided
    vector<index_t> sizes;  ///< the extents of the parts, if given
    index_t block = 0;      ///< the extent of a cyclic block

    constexpr placement() = default;
    constexpr placement(replicate) {}
    constexpr placement(only where) : type(kind::only), coordinate(where.coordinate) {}
    template <std::size_t Sizes>
    constexpr placement(shard<Sizes> const& cut)
        : type(Sizes > 0 ? kind::sizes : kind_of(cut.rule)),
          axis(cut.axis),
          sizes(cut.sizes.begin(), cut.sizes.end()) {}
    constexpr placement(strided_shard cut)
        : type(kind_of(cut.rule)), axis(cut.axis), strided(true) {}
    constexpr placement(block_cyclic cut)
        : type(kind::cyclic), axis(cut.axis), coordinate(cut.first), block(cut.block) {}
    constexpr placement(std::size_t tensor_axis, vector<index_t> extents)
        : type(kind::sizes), axis(tensor_axis), sizes(std::move(extents)) {}

    /// True if the placement cuts an axis of the tensor.
    constexpr bool cuts() const { return type >= kind::ceil; }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.type, self.axis, self.coordinate, self.strided, self.sizes, self.block);
    }

    constexpr bool operator==(placement const&) const = default;

private:
    static constexpr kind kind_of(detail::split_rule rule) {
        return rule == detail::split_rule::even ? kind::equal : kind::ceil;
    }
};

namespace detail {

template <>
inline constexpr enum_range range_of_enum<placement::kind>{6, "the placement"};

} // namespace detail

/// As text: `replicate`, `only 2`, `shard 0`, `shard 0 even`, `shard 0 by 3, 1, 4`,
/// `strided shard 0`, `block cyclic 0 by 36`, `block cyclic 0 by 36 from 1`.
RESHARD_DECL std::string to_string(placement const& placement);

namespace detail {

/// The mesh axes in the order in which they cut: strided ones come last.
///
/// \pre at most `max_ndim` placements
constexpr index_vector cut_order(vector<placement> const& placements) {
    index_vector order;
    for (bool const strided : {false, true})
        for (std::size_t i = 0; i < placements.size(); ++i)
            if (placements[i].strided == strided)
                order.push_back(static_cast<index_t>(i));
    return order;
}

/// An interval of one axis: its first element and its extent.
struct interval {
    index_t offset;
    index_t extent;
};

/// The interval from the first to the last of the blocks that part `i` of `count` has.
///
/// \pre `block > 0`
constexpr interval interval_of_blocks(index_t block, index_t extent, index_t count, index_t i) {
    index_t const blocks = extent / block + (extent % block != 0);
    if (i >= blocks)
        return {extent, 0};
    index_t const last = (i + (blocks - 1 - i) / count * count) * block;
    return {i * block, last + std::min(block, extent - last) - i * block};
}

/// Part `i` of an extent that is cut into `count` parts; parts beyond the end are empty. For cyclic
/// blocks, the interval from the part's first to its last block.
constexpr interval interval_of(placement const& placement, index_t extent, index_t count,
                               index_t i) {
    if (placement.type == placement::kind::sizes) {
        interval result{0, placement.sizes[static_cast<std::size_t>(i)]};
        for (index_t before = 0; before < i; ++before)
            result.offset += placement.sizes[static_cast<std::size_t>(before)];
        return result;
    }
    if (placement.type == placement::kind::cyclic)
        return interval_of_blocks(placement.block, extent, count,
                                  (i - placement.coordinate + count) % count);
    index_t const most = extent / count + (extent % count != 0);
    if (most == 0 || i > extent / most)
        return {extent, 0};
    return {i * most, std::min(most, extent - i * most)};
}

/// A mesh axis that replicates or cuts a tensor: its placement, its ranks, and their stride.
struct held_axis {
    placement spread; ///< replicates or cuts
    index_t extent = 1;
    index_t holder_stride = 1;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.spread, self.extent, self.holder_stride);
    }
};

/// Checks the placement of a mesh axis. Does not check that it fits the tensor.
///
/// \throws error with errc::bad_layout for an invalid placement or the placement `only`
constexpr void validate(held_axis const& axis) {
    using kind = placement::kind;
    placement const& placement = axis.spread;
    index_t const coordinates = placement.type == kind::cyclic ? axis.extent : 1;
    if (placement.type == kind::only || placement.axis >= max_ndim || placement.coordinate < 0 ||
        placement.coordinate >= coordinates ||
        (placement.type != kind::sizes && !placement.sizes.empty()) ||
        (placement.type != kind::cyclic && placement.block != 0))
        fail(errc::bad_layout,
             "it has the invalid placement " + to_string(placement) + " along a mesh axis");
}

/// One axis of a grid of shards.
struct grid_axis {
    placement spread;          ///< replicates or cuts
    index_t extent = 1;        ///< the number of shards along the axis
    index_t holder_stride = 1; ///< the distance between the holders of neighbouring shards
    index_t shard_stride = 1;  ///< the distance between the numbers of neighbouring shards
    index_t part_stride = 1;   ///< the same for the numbers of boxes or replicas
    vector<index_t> begins{};  ///< the offsets of the parts, and the end, for explicit sizes

    constexpr index_t along(index_t number, index_t stride) const {
        return number / stride % extent;
    }
    constexpr bool operator==(grid_axis const&) const = default;
};

/// Reduces an interval to its part `i` along the axis.
constexpr void cut_part(index_t& offset, index_t& extent, grid_axis const& axis, index_t i) {
    if (!axis.begins.empty()) {
        auto const bounds = axis.begins.begin() + static_cast<std::ptrdiff_t>(i);
        offset += *bounds;
        extent = bounds[1] - bounds[0];
        return;
    }
    auto const share = interval_of(axis.spread, extent, axis.extent, i);
    offset += share.offset;
    extent = share.extent;
}

/// The first part of `interval` along the axis that may end after `begin`.
constexpr index_t first_part(interval interval, grid_axis const& axis, index_t begin) {
    index_t const from = begin - interval.offset;
    if (from <= 0 || interval.extent == 0)
        return 0;
    if (axis.begins.empty())
        return from / (interval.extent / axis.extent + (interval.extent % axis.extent != 0));
    auto const behind = std::upper_bound(axis.begins.begin(), axis.begins.end(), from);
    return behind - axis.begins.begin() - 1;
}

/// The arguments of a `shard_grid`.
struct grid_recipe {
    index_vector shape;
    holder_t first_holder = 0;
    vector<held_axis> axes; ///< the fastest axis is first

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.shape, self.first_holder, self.axes);
    }
};

/// The last holder of a grid, plus one.
///
/// \throws error with errc::bad_layout if two shards have the same holder, or if there are too many
RESHARD_DECL index_t end_of_holders(grid_recipe const& grid);

/// \throws error with errc::bad_layout or errc::overflow if the tensor is not valid, or if holders
///         or placements do not fit
RESHARD_DECL void validate(grid_recipe const& grid);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/placement.ipp>
#endif

#endif
