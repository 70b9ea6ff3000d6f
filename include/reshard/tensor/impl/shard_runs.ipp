// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_IMPL_SHARD_RUNS_IPP
#define RESHARD_TENSOR_IMPL_SHARD_RUNS_IPP

#include <reshard/tensor/shard_runs.hpp>

#include <reshard/core/sorting.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/tensor/traits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

namespace reshard::detail {

/// Arrays of more bytes are not joined, so that no sum of distances overflows.
inline constexpr index_t longest_array = index_t{1} << 52;

/// True if `count` steps of `step` bytes, or of elements of at most 16 bytes, can be counted.
inline bool is_countable(index_t count, index_t step) {
    return -longest_array / count < step && step < longest_array / count;
}

inline bool is_countable(array_shard const& shard) {
    for (std::size_t axis = 0; axis < shard.shape.size(); ++axis)
        if (!is_countable(shard.shape[axis], shard.strides[axis]))
            return false;
    return true;
}

inline bool has_axis(auto const& cycles_or_steps, std::size_t axis) {
    return std::any_of(cycles_or_steps.begin(), cycles_or_steps.end(),
                       [axis](auto const& entry) { return entry.axis == axis; });
}

/// The distance in bytes between the first elements, modulo 2^64.
inline index_t bytes_between(array_shard const& a, array_shard const& b) {
    return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(b.data) -
                                reinterpret_cast<std::uintptr_t>(a.data));
}

/// True if both shards are boxes, or the same blocks of boxes, of one tensor, and lie in memory in
/// the same way. Shards on a device are not joined: they may be separate allocations, which no
/// single copy of bytes may cross.
inline bool may_join(array_shard const& a, array_shard const& b) {
    shard_descriptor const &first = a.descriptor, &next = b.descriptor;
    return a.dtype == b.dtype && a.memory.is_host() && b.memory.is_host() &&
           bits(a.dtype) % 8 == 0 && a.shape.size() == first.region.shape.size() &&
           first.dtype == next.dtype && !first.flat && !next.flat && first.key == next.key &&
           b.data != nullptr && first.global_shape == next.global_shape &&
           first.cycles == next.cycles && a.strides == b.strides &&
           next.region.offset.size() == first.region.offset.size() &&
           next.region.shape.size() == first.region.shape.size() &&
           b.shape.size() == a.shape.size();
}

/// True if `next` comes after `first` along an axis, inside the tensor, and if both have the same
/// region along all other axes.
///
/// \param longest the largest extent of `next` along the axis
inline bool are_in_row(array_shard const& a, array_shard const& b, std::size_t along,
                       index_t longest) {
    if (!may_join(a, b) || has_axis(a.descriptor.cycles, along))
        return false;
    box const &first = a.descriptor.region, &next = b.descriptor.region;
    for (std::size_t axis = 0; axis < first.ndim(); ++axis)
        if (axis != along &&
            (first.offset[axis] != next.offset[axis] || first.shape[axis] != next.shape[axis] ||
             a.shape[axis] != b.shape[axis]))
            return false;
    index_t const extent = next.shape[along];
    return extent > 0 && extent <= longest && b.shape[along] == extent &&
           next.offset[along] > first.offset[along] &&
           next.offset[along] <= a.descriptor.global_shape[along] - extent;
}

/// The shape of a run's first shard if it has the elements of all shards.
inline index_vector joined_shape(index_vector shape, std::span<shard_step const> steps) {
    for (shard_step const& step : steps)
        shape[step.axis] = (step.count - 1) * shape[step.axis] + step.last;
    return shape;
}

/// True if a step of `distance` elements continues a run's array along an axis: element by element,
/// by the stride of the axis. If a shard has only one index along the axis, its stride means
/// nothing, and the array may also have no gaps.
inline bool is_one_array(array_shard const& first, shard_steps const& inner, std::size_t axis,
                         index_t distance) {
    index_t const extent = first.shape[axis];
    return (distance % extent == 0 && distance / extent == first.strides[axis]) ||
           (extent == 1 && distance == element_count(joined_shape(
                                           first.shape, std::span(inner.begin(), inner.end()))));
}

/// The step from one run to the next if both are parts of one array, or of a matrix of tiles.
///
/// \param inner the steps of both
inline std::optional<shard_step> step_between(array_shard const& a, array_shard const& b,
                                              shard_steps const& inner) {
    box const &first = a.descriptor.region, &next = b.descriptor.region;
    std::size_t const axes = std::min(first.offset.size(), next.offset.size());
    std::size_t axis = 0;
    while (axis < axes && first.offset[axis] == next.offset[axis])
        ++axis;
    if (axis == axes || is_empty(first) || has_axis(inner, axis) ||
        !are_in_row(a, b, axis, first.shape[axis]))
        return std::nullopt;
    index_t const distance = next.offset[axis] - first.offset[axis], bytes = bytes_between(a, b),
                  size = bits(a.dtype) / 8;
    if (distance < first.shape[axis] || !is_countable(a) || !is_countable(2, bytes) || bytes == 0 ||
        bytes % size != 0)
        return std::nullopt;
    shard_step const step{
        axis, 2, distance, next.shape[axis], bytes, !is_one_array(a, inner, axis, bytes / size)};
    if (step.is_tiled && (step.last != first.shape[axis] || 2 * axes > max_ndim))
        return std::nullopt;
    return step;
}

/// True if `next` is the shard, or the first shard of a run, after the last one of a step.
inline bool continues(array_shard const& first, shard_step const& step, array_shard const& next) {
    box const& region = first.descriptor.region;
    if (!is_countable(step.count + 1, step.bytes) ||
        bytes_between(first, next) != step.bytes * step.count ||
        !are_in_row(first, next, step.axis, region.shape[step.axis]))
        return false;
    index_t const last = region.offset[step.axis] + (step.count - 1) * step.distance;
    return step.last == region.shape[step.axis] &&
           (!step.is_tiled || next.descriptor.region.shape[step.axis] == step.last) &&
           next.descriptor.region.offset[step.axis] - last == step.distance;
}

inline void add_to(shard_step& step, array_shard const& next) {
    ++step.count;
    step.last = next.descriptor.region.shape[step.axis];
}

RESHARD_DECL bool run_finder::extend(std::size_t runs, array_shard const& last,
                                     array_shard const& next) {
    if (steps_.size() < runs || steps_.back().empty()) {
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

RESHARD_DECL bool are_one_array(array_shard const& a, array_shard const& b) {
    auto const step = step_between(a, b, {});
    return step && !step->is_tiled;
}

RESHARD_DECL bool run_finder::fold(array_shard const& before, array_shard const& last) {
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

/// Puts an axis over blocks in front of all axes, for each axis.
inline void make_tiled(axis_cycles const& cycles, index_vector& shape, index_vector& strides) {
    index_vector blocks = index_vector::filled(shape.size(), 1), distances = strides;
    for (axis_cycle const& cycle : cycles)
        distances[cycle.axis] *= cycle.block;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        blocks.push_back(shape[axis]);
        distances.push_back(strides[axis]);
    }
    shape = blocks;
    strides = distances;
}

RESHARD_DECL void join_step(shard_descriptor& descriptor, index_vector& shape,
                            index_vector& strides, shard_step const& step, data_type dtype) {
    std::size_t const ndim = descriptor.region.ndim();
    if (step.is_tiled && shape.size() == ndim)
        make_tiled(descriptor.cycles, shape, strides);
    bool const is_tiled = shape.size() > ndim;
    std::size_t const within = is_tiled ? ndim + step.axis : step.axis;
    index_t const extent = shape[within], distance = step.bytes / (bits(dtype) / 8);
    if (is_tiled)
        strides[step.axis] = distance;
    if (step.is_tiled)
        shape[step.axis] = step.count;
    else {
        strides[within] = distance / extent;
        shape[within] = (step.count - 1) * extent + step.last;
    }
    descriptor.region.shape[step.axis] = (step.count - 1) * step.distance + step.last;
    add_cycle(descriptor.cycles, {step.axis, extent, step.distance}, descriptor.region);
}

RESHARD_DECL index_t move_in_run(shard_descriptor& descriptor, index_vector& shape,
                                 std::span<shard_step const> steps, index_t number) {
    index_t bytes = 0;
    for (shard_step const& step : steps) { // the innermost changes fastest
        index_t const index = number % step.count;
        number /= step.count;
        descriptor.region.offset[step.axis] += index * step.distance;
        if (index + 1 == step.count && !step.is_tiled) {
            std::size_t const within = shape.size() - descriptor.region.ndim() + step.axis;
            descriptor.region.shape[step.axis] = shape[within] = step.last;
        }
        bytes += index * step.bytes;
    }
    return bytes;
}

RESHARD_DECL shard_steps nearest_first(std::span<shard_step const> steps) {
    shard_steps sorted(steps.begin(), steps.end());
    sort_by(sorted, [](shard_step const& a, shard_step const& b) {
        return std::abs(a.bytes) < std::abs(b.bytes);
    });
    return sorted;
}

} // namespace reshard::detail

#endif
