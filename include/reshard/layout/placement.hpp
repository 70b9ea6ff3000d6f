// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_PLACEMENT_HPP
#define RESHARD_LAYOUT_PLACEMENT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/members.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What one axis of a mesh does to a tensor: cut an axis of it, copy it, or keep it in one place.

namespace reshard {

/// Every coordinate of the mesh axis holds a copy.
struct replicate {
    constexpr bool operator==(replicate const&) const = default;
};

/// One coordinate of the mesh axis holds it, the others nothing: a pipeline stage, an expert.
struct only {
    index_t coordinate = 0;

    constexpr bool operator==(only const&) const = default;
};

namespace detail {

/// How an extent is cut.
enum class split_rule {
    ceil, ///< parts of extent / parts, rounded up; the last ones shorter or empty
    even, ///< equal parts; the number of parts must divide the extent
};

} // namespace detail

/// The mesh axis cuts that axis of the tensor.
///
/// \par Source `Shard` of PyTorch's DTensor, which always rounds up
struct shard {
    std::size_t axis = 0;
    detail::split_rule rule = detail::split_rule::ceil;

    constexpr bool operator==(shard const&) const = default;
};

/// As `shard`, but after all mesh axes that are not strided: the mesh axis cuts what those leave.
///
/// \par Source `_StridedShard` of PyTorch's DTensor, which FSDP over tensor parallelism makes;
///             there with a split factor, which here follows from the mesh
struct strided_shard {
    std::size_t axis = 0;
    detail::split_rule rule = detail::split_rule::ceil;

    constexpr bool operator==(strided_shard const&) const = default;
};

/// The mesh axis deals out that axis of the tensor in blocks of equal extents, the last one
/// shorter: block `b` goes to coordinate `b mod P` of the `P` that there are.
///
/// A rank stores its blocks side by side, in one array. It is the last cut of its tensor axis.
///
/// \par Units  elements
/// \par Source ScaLAPACK's two-dimensional block-cyclic distribution, one placement for each of its
///             two axes; local extents are those of `numroc`, with the first block at coordinate 0
struct block_cyclic {
    std::size_t axis = 0;
    index_t block = 1;

    constexpr bool operator==(block_cyclic const&) const = default;
};

/// The mesh axis cuts that axis of the tensor into parts of these extents, as a template argument.
template <std::size_t N>
struct shard_sizes {
    std::size_t axis = 0;
    index_t sizes[N] = {};

    constexpr shard_sizes(std::size_t tensor_axis, index_t const (&extents)[N])
        : axis(tensor_axis) {
        std::copy_n(extents, N, sizes);
    }

    constexpr bool operator==(shard_sizes const&) const = default;
};

/// Any of these, as a value.
///
/// \par Units `sizes` and `block` in elements
struct placement {
    enum class kind { replicate, only, ceil, even, sizes, cyclic };

    kind what = kind::replicate;
    std::size_t axis = 0;       ///< of the tensor, where it is cut
    index_t coordinate = 0;     ///< of the mesh axis, where one alone holds it
    bool strided = false;       ///< cuts after the mesh axes that are not
    std::vector<index_t> sizes; ///< of the parts, where they are given
    index_t block = 0;          ///< the extent of a block, where they are dealt out

    constexpr placement() = default;
    constexpr placement(replicate) {}
    constexpr placement(only where) : what(kind::only), coordinate(where.coordinate) {}
    constexpr placement(shard cut)
        : what(cut.rule == detail::split_rule::even ? kind::even : kind::ceil), axis(cut.axis) {}
    constexpr placement(strided_shard cut) : placement(shard{cut.axis, cut.rule}) {
        strided = true;
    }
    constexpr placement(block_cyclic cut) : what(kind::cyclic), axis(cut.axis), block(cut.block) {}
    constexpr placement(std::size_t tensor_axis, std::vector<index_t> extents)
        : what(kind::sizes), axis(tensor_axis), sizes(std::move(extents)) {}
    template <std::size_t N>
    constexpr placement(shard_sizes<N> const& cut)
        : placement(cut.axis, std::vector<index_t>(cut.sizes, cut.sizes + N)) {}

    /// True where it cuts an axis of the tensor.
    constexpr bool cuts() const { return what >= kind::ceil; }

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.what, self.axis, self.coordinate, self.strided, self.sizes, self.block);
    }

    constexpr bool operator==(placement const&) const = default;
};

namespace detail {

template <>
inline constexpr enum_range range_of_enum<placement::kind>{6, "the placement"};

} // namespace detail

/// `replicate`, `only 2`, `shard 0`, `shard 0 even`, `shard 0 by 3, 1, 4`, `strided shard 0`,
/// `block cyclic 0 by 36`.
RESHARD_DECL std::string to_string(placement const& how);

namespace detail {

/// The numbers of the mesh axes in the order in which they cut: those that are not strided first.
///
/// \pre at most `max_ndim` placements
constexpr index_vector cut_order(std::vector<placement> const& placements) {
    index_vector order;
    for (bool const strided : {false, true})
        for (std::size_t i = 0; i < placements.size(); ++i)
            if (placements[i].strided == strided)
                order.push_back(static_cast<index_t>(i));
    return order;
}

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/placement.ipp>
#endif

#endif
