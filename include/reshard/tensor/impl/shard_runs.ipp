// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_IMPL_SHARD_RUNS_IPP
#define RESHARD_TENSOR_IMPL_SHARD_RUNS_IPP

#include <reshard/tensor/shard_runs.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace reshard::detail {

/// The bytes from the first element of one shard to that of another, modulo 2^64.
inline index_t bytes_between(run_shard const& a, run_shard const& b) {
    return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(b.data) -
                                reinterpret_cast<std::uintptr_t>(a.data));
}

/// True if both shards belong to one tensor and one kind of memory, and if a run may have both.
inline bool may_share_run(run_shard const& a, run_shard const& b) {
    shard_descriptor const &first = a.descriptor, &next = b.descriptor;
    return a.dtype == b.dtype && a.memory == b.memory && first.dtype == next.dtype && !first.flat &&
           !next.flat && first.key == next.key && b.data != nullptr &&
           first.global_shape == next.global_shape && first.cycles == next.cycles &&
           a.strides == b.strides && next.region.offset.size() == first.region.offset.size() &&
           next.region.shape.size() == first.region.shape.size() &&
           b.shape.size() == a.shape.size();
}

/// True if both shards have the same region along each axis but one, and if `next` is at most as
/// long along that axis, and inside the tensor.
///
/// \pre `may_share_run(a, b)`
inline bool differ_along(run_shard const& a, run_shard const& b, std::size_t along) {
    box const &first = a.descriptor.region, &next = b.descriptor.region;
    for (std::size_t axis = 0; axis < first.ndim(); ++axis)
        if (axis != along &&
            (first.offset[axis] != next.offset[axis] || first.shape[axis] != next.shape[axis] ||
             a.shape[axis] != b.shape[axis]))
            return false;
    index_t const extent = next.shape[along];
    return extent > 0 && extent <= first.shape[along] && b.shape[along] == extent &&
           next.offset[along] > first.offset[along] &&
           next.offset[along] <= a.descriptor.global_shape[along] - extent;
}

/// The shape of a run's first shard if it has the elements of all shards.
inline index_vector joined_shape(index_vector shape, shard_steps const& steps) {
    for (shard_step const& step : steps)
        shape[step.axis] = (step.count - 1) * shape[step.axis] + step.last;
    return shape;
}

/// True if a step of `bytes` continues a run's array along an axis: element by element, by the
/// stride of the axis. If a shard has only one index along the axis, its stride means nothing, and
/// the array may also have no gaps.
inline bool is_one_array(run_shard const& first, shard_steps const& inner, std::size_t axis,
                         index_t bytes) {
    index_t const size = bits(first.dtype) / 8, each = first.shape[axis] * size;
    if (bytes == 0 || bytes == std::numeric_limits<index_t>::min() || bytes % each != 0)
        return false;
    return bytes / each == first.strides[axis] ||
           (first.shape[axis] == 1 &&
            bytes == element_count(joined_shape(first.shape, inner)) * size);
}

/// The step from one run to the next if both are parts of one array.
///
/// \param inner the steps of both
inline std::optional<shard_step> step_between(run_shard const& a, run_shard const& b,
                                              shard_steps const& inner) {
    box const &first = a.descriptor.region, &next = b.descriptor.region;
    if (!may_share_run(a, b) || is_empty(first) || bits(a.dtype) % 8 != 0)
        return std::nullopt;
    auto const moved =
        std::mismatch(first.offset.begin(), first.offset.end(), next.offset.begin()).first;
    auto const axis = static_cast<std::size_t>(moved - first.offset.begin());
    auto const is_along = [axis](auto const& cycle_or_step) { return cycle_or_step.axis == axis; };
    axis_cycles const& cycles = a.descriptor.cycles;
    if (moved == first.offset.end() || !differ_along(a, b, axis) ||
        std::any_of(cycles.begin(), cycles.end(), is_along) ||
        std::any_of(inner.begin(), inner.end(), is_along))
        return std::nullopt;
    index_t const distance = next.offset[axis] - first.offset[axis], bytes = bytes_between(a, b);
    if (distance < first.shape[axis] || !is_one_array(a, inner, axis, bytes))
        return std::nullopt;
    return shard_step{axis, 2, distance, next.shape[axis], bytes};
}

/// True if `next` is the shard, or the first shard of a run, after the last one of a step.
inline bool continues(run_shard const& first, shard_step const& step, run_shard const& next) {
    index_t const limit = std::numeric_limits<index_t>::max() / (step.count + 1) / 8;
    if (-limit >= step.bytes || step.bytes >= limit ||
        bytes_between(first, next) != step.bytes * step.count || !may_share_run(first, next) ||
        !differ_along(first, next, step.axis))
        return false;
    box const& region = first.descriptor.region;
    index_t const last = region.offset[step.axis] + (step.count - 1) * step.distance;
    return step.last == region.shape[step.axis] &&
           next.descriptor.region.offset[step.axis] - last == step.distance;
}

inline void add_to(shard_step& step, run_shard const& next) {
    ++step.count;
    step.last = next.descriptor.region.shape[step.axis];
}

RESHARD_DECL bool run_finder::extend(std::size_t runs, run_shard const& last,
                                     run_shard const& next) {
    if (steps_.empty() || steps_.back().empty()) {
        auto const step = step_between(last, next, {});
        if (!step)
            return false;
        steps_.resize(runs);
        steps_.back().push_back(*step);
        return true;
    }
    if (steps_.back().size() > 1 || !continues(last, steps_.back()[0], next))
        return false;
    add_to(steps_.back()[0], next);
    return true;
}

RESHARD_DECL bool run_finder::fold(run_shard const& before, run_shard const& last) {
    shard_steps &outer = steps_[steps_.size() - 2], &inner = steps_.back();
    if (inner.empty() || outer.size() < inner.size() || outer.size() > inner.size() + 1 ||
        !std::equal(inner.begin(), inner.end(), outer.begin()))
        return false;
    if (outer.size() == inner.size()) {
        auto const step = step_between(before, last, inner);
        if (!step)
            return false;
        outer.push_back(*step);
    } else {
        if (!continues(before, outer.back(), last))
            return false;
        add_to(outer.back(), last);
    }
    steps_.pop_back();
    return true;
}

RESHARD_DECL void join_step(shard_descriptor& descriptor, index_vector& shape,
                            index_vector& strides, shard_step const& step, data_type dtype) {
    index_t const extent = shape[step.axis];
    strides[step.axis] = step.bytes / (extent * bits(dtype) / 8);
    shape[step.axis] = (step.count - 1) * extent + step.last;
    descriptor.region.shape[step.axis] = (step.count - 1) * step.distance + step.last;
    add_cycle(descriptor.cycles, {step.axis, extent, step.distance}, descriptor.region);
}

} // namespace reshard::detail

#endif
