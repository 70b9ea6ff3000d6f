// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_SHARDING_HPP
#define RESHARD_LAYOUT_SHARDING_HPP

#include <reshard/core/flat_range.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/distribution.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Describes the holders of a tensor without a list of shards: as distributions of its parts, cut
/// flat or not.

namespace reshard {

namespace detail {

/// How several ranks divide a box that a distribution gives to each of them: each rank has a slice.
struct flat_sharing {
    /// The mesh axes whose ranks have slices 0, 1, ...; the last axis runs fastest.
    axis_set axes = 0;

    /// The slices of the box in a shared buffer; std::nullopt if the box has its own buffer.
    std::optional<flat_slices> slices;

    constexpr bool operator==(flat_sharing const&) const = default;
};

/// A part of a tensor and its distribution.
///
/// \invariant `spread` replicates along the axes of `flat`
struct sharding_part {
    index_vector offset; ///< the offset of the part in the tensor
    distribution spread; ///< the distribution of the part; its shape is the part's shape
    std::optional<flat_sharing> flat;
    bool is_copy = false; ///< true if an earlier part has the same elements on other ranks

    constexpr bool operator==(sharding_part const&) const = default;
};

} // namespace detail

namespace typed {

/// A placement like `replicate`, but the ranks along all mesh axes with this placement divide the
/// box into slices, in row-major order. The first axis is the slowest.
///
/// The slices are equal, except that the last slices may be shorter or empty. With a buffer, the
/// slices are those of the buffer.
///
/// \par Units  elements
/// \par Source ZeRO-3; with `length`, the buckets of ZeRO-1 and ZeRO-2
struct flat_share {
    index_t begin = 0;  ///< the offset of the box in the buffer
    index_t length = 0; ///< the length of each slice of the buffer; 0: no buffer

    constexpr operator placement() const { return replicate{}; }

    constexpr bool operator==(flat_share const&) const = default;
};

} // namespace typed

/// A tensor and its distribution over ranks, in memory that does not depend on the number of ranks.
///
/// Most tensors have one part. A fused tensor has several: a rank holds a shard of each part and
/// stores these shards one after the other.
///
/// \invariant parts that are not copies do not overlap; all parts whose ranks are not listed have
///            the same number of ranks
struct tensor_sharding {
    std::string key;
    data_type dtype{};
    index_vector shape; ///< global
    vector<detail::sharding_part> parts;

    constexpr bool operator==(tensor_sharding const&) const = default;
};

namespace detail {

/// The largest region of a distribution.
constexpr box largest_region(distribution const& distribution) {
    index_vector at;
    for (placement const& each : distribution.placements()) {
        auto const most = std::max_element(each.sizes.begin(), each.sizes.end());
        at.push_back(each.coordinate + (most - each.sizes.begin()));
    }
    return *distribution.region(distribution.held_by().rank_at(distribution.ranks().rank_at(at)));
}

/// The number of ranks along the sharing axes, all of which must replicate.
///
/// \throws error with errc::bad_layout if an axis does not replicate or does not exist
constexpr index_t count_sharing(std::string_view key, sharding_part const& segment) {
    mesh const& ranks = segment.spread.ranks();
    index_t count = 1;
    for (std::size_t i = 0; i < max_ndim; ++i) {
        if (!has_axis(segment.flat->axes, i))
            continue;
        if (i >= ranks.ndim())
            fail(errc::bad_layout, "'", key, "': mesh axis ", i,
                 " shares flat slices, but the mesh has ", counted(ranks.ndim(), "axis"), " (",
                 ranks, ")");
        if (segment.spread.placements()[i].type != placement::kind::replicate)
            fail(errc::bad_layout, "'", key, "': mesh axis '", ranks.all_axes[i].name(),
                 "' shares flat slices, so it must replicate, not ",
                 segment.spread.placements()[i]);
        count *= ranks.all_axes[i].extent;
    }
    return count;
}

/// True if `count` slices hold all elements of the part. Equal slices always do.
///
/// \pre the part's ranks divide boxes flat
constexpr bool hold_all(sharding_part const& segment, index_t count) {
    if (!segment.flat->slices)
        return true;
    auto const [begin, length] = *segment.flat->slices;
    index_t const elements = element_count(largest_region(segment.spread));
    return begin >= 0 && length >= 0 && checked_multiply(count, length) >= elements &&
           begin <= count * length - elements;
}

/// \throws error with errc::bad_layout if the slices of a part do not hold all its elements
constexpr void check_flat(std::string_view key, sharding_part const& segment) {
    index_t const count = count_sharing(key, segment);
    for (placement const& each : segment.spread.placements())
        if (each.type == placement::kind::cyclic)
            fail(errc::bad_layout, "'", key, "': axis ", each.axis, ": ", counted(count, "rank"),
                 " cannot divide cyclic blocks of ", counted(each.block, "element"),
                 " into flat slices");
    if (!hold_all(segment, count))
        fail(errc::bad_layout, "'", key,
             "': ", counted(element_count(largest_region(segment.spread)), "element"),
             " at offset ", segment.flat->slices->begin, " of a buffer exceed its ",
             counted(count, "slice"), " of ", counted(segment.flat->slices->length, "element"));
}

} // namespace detail

/// Throws if a part exceeds the tensor, if parts have different numbers of ranks, or if flat slices
/// are along an axis that does not replicate.
///
/// \throws error with errc::bad_layout that names key, axis and both numbers
constexpr void check(tensor_sharding const& tensor) {
    for (detail::sharding_part const& segment : tensor.parts) {
        if (segment.offset.size() != tensor.shape.size() ||
            segment.spread.shape().size() != tensor.shape.size() ||
            !contains(whole(tensor.shape), {segment.offset, segment.spread.shape()}))
            fail(errc::bad_layout, "'", tensor.key, "': a part of shape ", segment.spread.shape(),
                 " at offset ", segment.offset, " exceeds the tensor of shape ", tensor.shape);
        if (segment.spread.held_by().is_plain() && tensor.parts[0].spread.held_by().is_plain() &&
            segment.spread.ranks().rank_count() != tensor.parts[0].spread.ranks().rank_count())
            fail(errc::bad_layout, "'", tensor.key, "': its parts are on meshes of ",
                 tensor.parts[0].spread.ranks().rank_count(), " and ",
                 segment.spread.ranks().rank_count(), " ranks");
        if (segment.flat)
            detail::check_flat(tensor.key, segment);
    }
}

/// The sharding of a tensor with one part.
constexpr tensor_sharding sharding_of(std::string key, data_type dtype, distribution distribution,
                                      std::optional<detail::flat_sharing> const& flat = {}) {
    index_vector const shape = distribution.shape();
    return {std::move(key),
            dtype,
            shape,
            {{index_vector::filled(shape.size(), 0), std::move(distribution), flat, false}}};
}

namespace typed {

/// The data type, shape and placements of a tensor on a mesh.
///
/// All equal tensors share one constant of this type; its address is a template argument.
struct kind {
    data_type dtype{};
    index_vector shape;
    detail::sharding_part (*part)() = nullptr; ///< returns the single part

    constexpr distribution spread() const { return part().spread; }
};

} // namespace typed

namespace detail {

template <auto... Placements>
constexpr vector<placement> placement_list() {
    return {placement(Placements)...};
}

constexpr void add_share(std::optional<flat_sharing>&, std::size_t, auto const&) {}
constexpr void add_share(std::optional<flat_sharing>& sharing, std::size_t axis,
                         typed::flat_share const& share) {
    if (!sharing)
        sharing = flat_sharing{};
    sharing->axes = static_cast<axis_set>(sharing->axes | 1u << axis);
    if (share.length != 0)
        sharing->slices = flat_slices{share.begin, share.length};
}

/// How ranks divide boxes if a placement is `typed::flat_share`.
template <auto... Placements>
constexpr std::optional<flat_sharing> sharing_in() {
    std::optional<flat_sharing> sharing;
    [[maybe_unused]] std::size_t axis = 0;
    (add_share(sharing, axis++, Placements), ...);
    return sharing;
}

template <auto Ranks, index_vector Shape, auto... Placements>
constexpr sharding_part part_of() {
    return {index_vector::filled(Shape.size(), 0),
            distribution(rank_mesh(Ranks), placement_list<Placements...>(), Shape),
            sharing_in<Placements...>(), false};
}

template <auto Ranks, data_type Type, index_vector Shape, auto... Placements>
inline constexpr typed::kind kind_constant{Type, Shape, &part_of<Ranks, Shape, Placements...>};

/// The mesh of `Ranks`, which is a `mesh` or a `typed::rank_mesh`.
template <auto Ranks>
inline constexpr mesh mesh_in = rank_mesh(Ranks).grid();

/// Replaces the kind of an invalid tensor: each rank has a copy.
template <auto Ranks, data_type Type, index_vector Shape>
inline constexpr typed::kind unfit_kind{
    Type, Shape, [] {
        return sharding_part{index_vector::filled(Shape.size(), 0),
                             distribution(mesh_in<Ranks>,
                                          vector<placement>(mesh_in<Ranks>.ndim(), placement()),
                                          Shape),
                             std::nullopt, false};
    }};

} // namespace detail

} // namespace reshard

#endif
