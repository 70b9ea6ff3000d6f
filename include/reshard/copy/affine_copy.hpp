// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_AFFINE_COPY_HPP
#define RESHARD_COPY_AFFINE_COPY_HPP

#include <reshard/core/index_vector.hpp>

/// \file
/// The one operation in which every plan ends: an n-dimensional loop with two sets of strides.

namespace reshard {

namespace detail {

/// Element `i` of the loop goes from `source_offset + i . source_strides` to the same of the
/// target.
///
/// \par Units  elements, counted from two base pointers; the data types are given elsewhere
/// \invariant  three vectors of one length; no extent is negative; two places of the target are
///             never the same, while places of the source may be (stride 0 repeats an element)
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

/// Reverses an axis that the target walks backwards, moving the offsets to its other end.
constexpr loop_axis forwards(loop_axis axis, affine_copy& copy) {
    if (axis.target_stride >= 0)
        return axis;
    copy.source_offset += (axis.extent - 1) * axis.source_stride;
    copy.target_offset += (axis.extent - 1) * axis.target_stride;
    return {axis.extent, -axis.source_stride, -axis.target_stride};
}

/// True if a step of `outer` is as far as all steps of `inner` together, on both sides.
constexpr bool is_continued_by(loop_axis const& outer, loop_axis const& inner) {
    return outer.source_stride == inner.source_stride * inner.extent &&
           outer.target_stride == inner.target_stride * inner.extent;
}

/// Orders `a` before `b` if it has to be the outer loop.
constexpr bool is_outer(loop_axis const& a, loop_axis const& b) {
    if (a.target_stride != b.target_stride)
        return a.target_stride > b.target_stride;
    return magnitude(a.source_stride) > magnitude(b.source_stride);
}

/// Puts `axis` after all axes that have to be outer loops of it.
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

/// The same copy with as few axes as possible, the target's fastest one innermost.
///
/// Axes of extent 1 are dropped, axes that continue each other on both sides are one, and the
/// target is walked upwards. Nothing but the order of the elements changes, which no copy depends
/// on.
///
/// \post the same pairs of places; no extent is 1; target strides are positive and fall; an empty
///       copy has the one extent 0
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

/// The number of elements that it copies.
constexpr index_t element_count(detail::affine_copy const& copy) {
    return element_count(copy.extent);
}

} // namespace reshard

#endif
