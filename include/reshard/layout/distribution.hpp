// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_DISTRIBUTION_HPP
#define RESHARD_LAYOUT_DISTRIBUTION_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/layout/mesh.hpp>
#include <reshard/layout/placement.hpp>
#include <reshard/layout/shard_table.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Computes the box that a rank holds from a mesh and placements, and finds faults in the
/// placements.

namespace reshard {

namespace detail {

/// A fault in the placements of a tensor on a mesh.
struct placement_fault {
    enum class kind {
        count,         ///< the number of placements is not the number of mesh axes
        coordinate,    ///< the mesh axis lacks the coordinate of `only` or of the first block
        axis,          ///< a cut along an axis that the tensor does not have
        uneven,        ///< an even split does not divide the extent
        size_count,    ///< the number of sizes is not the number of ranks along the mesh axis
        negative_size, ///< a size below zero
        size_sum,      ///< the sizes do not sum to the extent
        block,         ///< blocks have no elements
        dealt_out,     ///< cuts an axis that another mesh axis has already cut into cyclic blocks
    };

    kind type{};
    std::size_t mesh_axis = 0;
    index_t wanted = 0; ///< the number that the placement requires
    index_t there = 0;  ///< the number that the mesh or the tensor has

    constexpr bool operator==(placement_fault const&) const = default;
};

/// The fault if the sizes of `placement` do not divide an extent into `count` parts, or
/// std::nullopt.
constexpr std::optional<placement_fault>
find_size_fault(placement const& placement, std::size_t mesh_axis, index_t extent, index_t count) {
    using kind = placement_fault::kind;
    auto const sizes = static_cast<index_t>(placement.sizes.size());
    if (sizes != count)
        return placement_fault{kind::size_count, mesh_axis, sizes, count};
    index_t sum = 0;
    for (index_t const size : placement.sizes) {
        if (size < 0)
            return placement_fault{kind::negative_size, mesh_axis, size, extent};
        if (size > std::numeric_limits<index_t>::max() - sum)
            return placement_fault{kind::size_sum, mesh_axis, size, extent};
        sum += size;
    }
    if (sum != extent)
        return placement_fault{kind::size_sum, mesh_axis, sum, extent};
    return std::nullopt;
}

/// The fault if the blocks of `placement` cannot be assigned to ranks, or std::nullopt.
constexpr std::optional<placement_fault> find_block_fault(placement const& placement,
                                                          std::size_t mesh_axis) {
    if (placement.type == placement::kind::cyclic && placement.block < 1)
        return placement_fault{placement_fault::kind::block, mesh_axis, placement.block, 1};
    return std::nullopt;
}

/// The fault if `placement` cannot cut one of `extents`. Otherwise replaces `extents` with the
/// distinct extents of the parts, and returns std::nullopt.
constexpr std::optional<placement_fault> cut_extents(placement const& placement,
                                                     std::size_t mesh_axis, index_t count,
                                                     vector<index_t>& extents) {
    vector<index_t> left;
    for (index_t const extent : extents) {
        if (placement.type == placement::kind::sizes) {
            if (auto const fault = find_size_fault(placement, mesh_axis, extent, count))
                return fault;
            left.insert(left.end(), placement.sizes.begin(), placement.sizes.end());
            continue;
        }
        if (placement.type == placement::kind::equal && extent % count != 0)
            return placement_fault{placement_fault::kind::uneven, mesh_axis, count, extent};
        index_t const most = interval_of(placement, extent, count, 0).extent;
        index_t const shorter = most == 0 ? 0 : std::min(extent / most, count - 1);
        for (index_t const i : {index_t{0}, shorter, count - 1})
            left.push_back(interval_of(placement, extent, count, i).extent);
    }
    std::sort(left.begin(), left.end());
    left.erase(std::unique(left.begin(), left.end()), left.end());
    extents = std::move(left);
    return std::nullopt;
}

/// The first fault in these placements for a tensor of that shape, or std::nullopt.
///
/// \pre no extent of the tensor is negative
constexpr std::optional<placement_fault> find_fault(index_vector const& mesh_shape,
                                                    vector<placement> const& placements,
                                                    index_vector const& shape) {
    using kind = placement_fault::kind;
    if (placements.size() != mesh_shape.size())
        return placement_fault{kind::count, 0, static_cast<index_t>(placements.size()),
                               static_cast<index_t>(mesh_shape.size())};
    index_vector dealt_out = index_vector::filled(shape.size(), 0); // mesh axis + 1
    vector<vector<index_t>> extents;
    for (index_t const extent : shape)
        extents.push_back({extent});
    for (index_t const ordinal : cut_order(placements)) {
        auto const i = static_cast<std::size_t>(ordinal);
        placement const& placement = placements[i];
        if (placement.coordinate < 0 || placement.coordinate >= mesh_shape[i])
            return placement_fault{kind::coordinate, i, placement.coordinate, mesh_shape[i]};
        if (!placement.cuts())
            continue;
        if (placement.axis >= shape.size())
            return placement_fault{kind::axis, i, static_cast<index_t>(placement.axis),
                                   static_cast<index_t>(shape.size())};
        if (dealt_out[placement.axis])
            return placement_fault{kind::dealt_out, i, static_cast<index_t>(placement.axis),
                                   dealt_out[placement.axis] - 1};
        if (auto const fault = find_block_fault(placement, i))
            return fault;
        if (placement.type == placement::kind::cyclic)
            dealt_out[placement.axis] = ordinal + 1;
        else if (auto const fault =
                     cut_extents(placement, i, mesh_shape[i], extents[placement.axis]))
            return fault;
    }
    return std::nullopt;
}

/// The message for a fault, without the key.
RESHARD_DECL std::string sentence(placement_fault const& fault, mesh const& ranks,
                                  vector<placement> const& placements);

} // namespace detail

/// A tensor's shape, spread over a mesh: one placement for each mesh axis.
///
/// Several mesh axes may cut the same axis of the tensor: each cuts the parts of the mesh axis
/// before it. For example, 10 rows over 2 x 2 ranks give 3, 2, 3 and 2 rows. Strided shards cut
/// last.
///
/// \par Units   elements
/// \par Source  PyTorch's DTensor, which also rounds up and has an empty shard at offset = extent
class distribution {
public:
    /// Uses `key` only in messages.
    ///
    /// \throws error with errc::bad_layout for invalid placements (see `placement_fault`) or a
    ///         negative extent, with errc::overflow for more than 2^63 - 1 elements
    constexpr distribution(rank_mesh ranks, vector<placement> placements, index_vector const& shape,
                           std::string_view key = "a tensor")
        : held_by_(std::move(ranks)), placements_(std::move(placements)), shape_(shape) {
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            if (shape[axis] < 0)
                fail(errc::bad_layout, quoted(key), "axis ", axis, " has the extent ", shape[axis]);
        detail::check_count(key, shape);
        if (auto const fault = detail::find_fault(this->ranks().shape(), placements_, shape))
            fail(errc::bad_layout, quoted(key),
                 detail::sentence(*fault, this->ranks(), placements_));
    }
    constexpr distribution(mesh const& ranks, vector<placement> placements,
                           index_vector const& shape, std::string_view key = "a tensor")
        : distribution(rank_mesh(ranks), std::move(placements), shape, key) {}

    constexpr mesh const& ranks() const { return held_by_.grid(); }
    /// The ranks of the mesh. Ranks outside it hold no shards.
    constexpr rank_mesh const& held_by() const { return held_by_; }
    constexpr vector<placement> const& placements() const { return placements_; }
    constexpr index_vector const& shape() const { return shape_; }

    /// The region of a rank. The result is std::nullopt if a placement keeps the tensor on other
    /// ranks, and an empty box with offset = extent if the tensor has fewer rows than ranks. For
    /// cyclic blocks, it is the box from the rank's first to its last block; see `cycles_in`.
    ///
    /// \pre `0 <= rank && rank < held_by().rank_end()`, or the ranks are listed
    constexpr std::optional<box> region(index_t rank) const {
        auto const position = held_by_.place_of(rank);
        BOOST_ASSERT(position || !held_by_.is_plain());
        if (!position)
            return std::nullopt;
        index_vector const at = ranks().coordinates_of(*position);
        box box = whole(shape_);
        for (index_t const ordinal : detail::cut_order(placements_)) {
            auto const i = static_cast<std::size_t>(ordinal);
            placement const& placement = placements_[i];
            if (placement.type == placement::kind::only && placement.coordinate != at[i])
                return std::nullopt;
            if (!placement.cuts())
                continue;
            auto const cut = detail::interval_of(placement, box.shape[placement.axis],
                                                 ranks().all_axes[i].extent, at[i]);
            box.offset[placement.axis] += cut.offset;
            box.shape[placement.axis] = cut.extent;
        }
        for (std::size_t axis = 0; axis < shape_.size(); ++axis)
            if (box.shape[axis] == 0)
                box.offset[axis] = shape_[axis];
        return box;
    }

    /// The axes along which a rank holds only blocks of its region.
    ///
    /// \pre `region` has the shape of a result of `this->region`
    constexpr detail::axis_cycles cycles_in(box const& region) const {
        detail::axis_cycles cycles;
        for (std::size_t i = 0; i < placements_.size(); ++i)
            if (placement const& placement = placements_[i];
                placement.type == placement::kind::cyclic)
                detail::add_cycle(
                    cycles,
                    {placement.axis, placement.block, placement.block * ranks().all_axes[i].extent},
                    region);
        return cycles;
    }

    /// The number of a rank's replica among the replicas of its shard, in the order of ranks. 0 is
    /// the main copy.
    ///
    /// \pre        `region(rank)` has a value
    /// \par Source `replica_id` of Megatron-Core; here it follows from the placements
    constexpr index_t replica_number(index_t rank) const {
        index_vector const at = ranks().coordinates_of(*held_by_.place_of(rank));
        index_t number = 0;
        for (std::size_t i = 0; i < placements_.size(); ++i)
            if (placements_[i].type == placement::kind::replicate)
                number = number * ranks().all_axes[i].extent + at[i];
        return number;
    }

    constexpr bool operator==(distribution const&) const = default;

private:
    static std::string quoted(std::string_view key) { return "'" + std::string(key) + "': "; }

    rank_mesh held_by_;
    vector<placement> placements_;
    index_vector shape_;
};

/// The distribution as text: `[8, 4] on pp=2 tp=3: replicate; shard 0`.
RESHARD_DECL std::string to_string(distribution const& distribution);

namespace detail {

/// Appends the shards of all ranks, in rank order.
///
/// \pre `table.ndim() == distribution.shape().size()`
constexpr void append(shard_table& table, distribution const& distribution) {
    holder_t const ranks = distribution.held_by().rank_end();
    for (holder_t rank = 0; rank < ranks; ++rank)
        if (auto const region = distribution.region(rank))
            table.push_back(rank, *region, {}, distribution.cycles_in(*region));
}

/// The shards of all ranks, in rank order.
constexpr shard_table table_of(distribution const& distribution) {
    shard_table shards(distribution.shape().size());
    append(shards, distribution);
    return shards;
}

/// The shard of one rank, or std::nullopt if the rank holds none.
///
/// \pre `rank < distribution.held_by().rank_end()`, or the ranks are listed
constexpr std::optional<shard_descriptor>
descriptor_of(std::string key, data_type dtype, distribution const& distribution, holder_t rank) {
    auto const region = distribution.region(rank);
    if (!region)
        return std::nullopt;
    return shard_descriptor{std::move(key), dtype, distribution.shape(),
                            *region,        {},    distribution.cycles_in(*region)};
}

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/distribution.ipp>
#endif

#endif
