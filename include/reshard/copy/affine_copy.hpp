// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_AFFINE_COPY_HPP
#define RESHARD_COPY_AFFINE_COPY_HPP

#include <reshard/core/index_vector.hpp>

/// \file
/// The operation to which every plan is reduced: an n-dimensional loop with two sets of strides.

namespace reshard {

namespace detail {

/// Copies element `i` of an n-dimensional loop from position `source_offset + i . source_strides`
/// of the source to position `target_offset + i . target_strides` of the target.
///
/// \par Units  elements, counted from two base pointers; the data types are given elsewhere
/// \invariant  the three vectors have the same length; no extent is negative; no two positions in
///             the target are equal; positions in the source may be equal (stride 0 repeats an
///             element)
struct affine_copy {
    index_vector extent;
    index_t source_offset = 0;
    index_vector source_strides;
    index_t target_offset = 0;
    index_vector target_strides;

    constexpr std::size_t ndim() const { return extent.size(); }

    constexpr bool operator==(affine_copy const&) const = default;
};

/// One axis of an affine copy.
struct loop_axis {
    index_t extent;
    index_t source_stride;
    index_t target_stride;
};

constexpr index_t magnitude(index_t stride) { return stride < 0 ? -stride : stride; }

/// Reverses an axis with a negative target stride, and moves the offsets to the other end of the
/// axis.
constexpr loop_axis forwards(loop_axis axis, affine_copy& copy) {
    if (axis.target_stride >= 0)
        return axis;
    copy.source_offset += (axis.extent - 1) * axis.source_stride;
    copy.target_offset += (axis.extent - 1) * axis.target_stride;
    return {axis.extent, -axis.source_stride, -axis.target_stride};
}

/// True if one step of `outer` is as far as all steps of `inner` together, on both sides.
constexpr bool is_continued_by(loop_axis const& outer, loop_axis const& inner) {
    return outer.source_stride == inner.source_stride * inner.extent &&
           outer.target_stride == inner.target_stride * inner.extent;
}

/// True if `a` must be an outer loop of `b`.
constexpr bool is_outer(loop_axis const& a, loop_axis const& b) {
    if (a.target_stride != b.target_stride)
        return a.target_stride > b.target_stride;
    return magnitude(a.source_stride) > magnitude(b.source_stride);
}

/// Inserts `axis` after all axes that must be its outer loops.
constexpr void insert_axis(loop_axis* axes, std::size_t count, loop_axis const& axis) {
    for (; count > 0 && is_outer(axis, axes[count - 1]); --count)
        axes[count] = axes[count - 1];
    axes[count] = axis;
}

constexpr void push_axis(affine_copy& copy, loop_axis const& axis) {
    copy.extent.push_back(axis.extent);
    copy.source_strides.push_back(axis.source_stride);
    copy.target_strides.push_back(axis.target_stride);
}

/// The same copy with as few axes as possible. The target's fastest axis is innermost.
///
/// Axes of extent 1 are removed, axes that continue each other on both sides are merged, and target
/// strides become positive. Only the order of the elements changes, and no copy depends on that
/// order.
///
/// \post the same pairs of positions; no extent is 1; target strides are positive and descending;
///       an empty copy has the single extent 0
constexpr affine_copy fuse(affine_copy const& copy) {
    affine_copy fused{{}, copy.source_offset, {}, copy.target_offset, {}};
    loop_axis axes[max_ndim] = {};
    std::size_t count = 0;
    for (std::size_t i = 0; i < copy.ndim(); ++i) {
        if (copy.extent[i] == 0)
            return {{0}, copy.source_offset, {1}, copy.target_offset, {1}};
        if (copy.extent[i] != 1)
            insert_axis(
                axes, count++,
                forwards({copy.extent[i], copy.source_strides[i], copy.target_strides[i]}, fused));
    }
    for (std::size_t i = 0; i < count; ++i) {
        loop_axis const next = axes[i];
        if (i + 1 < count && is_continued_by(next, axes[i + 1]))
            axes[i + 1] = {next.extent * axes[i + 1].extent, axes[i + 1].source_stride,
                           axes[i + 1].target_stride};
        else
            push_axis(fused, next);
    }
    return fused;
}

} // namespace detail

/// The number of elements in a copy.
constexpr index_t element_count(detail::affine_copy const& copy) {
    return element_count(copy.extent);
}

} // namespace reshard

#endif
