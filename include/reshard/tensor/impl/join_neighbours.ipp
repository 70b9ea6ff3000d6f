// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_IMPL_JOIN_NEIGHBOURS_IPP
#define RESHARD_TENSOR_IMPL_JOIN_NEIGHBOURS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/tensor/join_neighbours.hpp>

#include <reshard/core/sorting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace reshard::detail {

/// Joins shards along each axis, the last axis first: blocks become rows, and rows become panels.
class neighbour_joiner {
public:
    explicit neighbour_joiner(vector<joined_shard> shards) : shards_(std::move(shards)) {
        for (joined_shard const& each : shards_)
            axes_ = std::max(axes_, each.value.tensor.ndim());
    }

    vector<joined_shard> joined() && {
        for (std::size_t axis = axes_; axis-- > 0;) {
            sort_by(shards_, [axis](joined_shard const& a, joined_shard const& b) {
                return comes_before(a.value, b.value, axis);
            });
            join(axis);
        }
        sort_by(shards_, [](auto const& a, auto const& b) { return a.position < b.position; });
        return std::move(shards_);
    }

private:
    using shard = const_local_shard;

    /// Joins each shard with the previous shard if it is its neighbour.
    void join(std::size_t axis) {
        std::size_t last = 0;
        for (std::size_t next = 1; next < shards_.size(); ++next)
            if (is_neighbour(shards_[last].value, shards_[next].value, axis))
                extend(shards_[last], shards_[next], axis);
            else if (++last != next)
                shards_[last] = std::move(shards_[next]);
        shards_.erase(shards_.begin() +
                          static_cast<std::ptrdiff_t>(std::min(last + 1, shards_.size())),
                      shards_.end());
    }

    /// Orders shards such that all shards of a row along the axis follow each other, by their
    /// position in the row.
    static bool comes_before(shard const& a, shard const& b, std::size_t axis) {
        if (int const order = a.descriptor.key.compare(b.descriptor.key))
            return order < 0;
        box const row_a = row_of(a, axis), row_b = row_of(b, axis);
        if (row_a.offset != row_b.offset)
            return row_a.offset < row_b.offset;
        if (row_a.shape != row_b.shape)
            return row_a.shape < row_b.shape;
        return std::pair(line_of(a, axis), offset(a, axis)) <
               std::pair(line_of(b, axis), offset(b, axis));
    }

    /// Identifies the row of a shard by its region on the other axes. All shards of a row have the
    /// same result.
    static box row_of(shard const& current_shard, std::size_t axis) {
        box row = current_shard.descriptor.region;
        if (axis < row.ndim())
            row.offset[axis] = row.shape[axis] = 0;
        return row;
    }

    static index_t offset(shard const& current_shard, std::size_t axis) {
        return axis < current_shard.descriptor.region.ndim()
                   ? current_shard.descriptor.region.offset[axis]
                   : 0;
    }

    /// The address that the tensor's first element along the axis would have in the shard's array.
    /// Shards of one array have the same result, so that sorting does not put shards of other
    /// arrays between them.
    static std::uintptr_t line_of(shard const& current_shard, std::size_t axis) {
        return axis < current_shard.tensor.ndim()
                   ? address_of(current_shard.tensor, axis, -offset(current_shard, axis))
                   : 0;
    }

    /// True if `next` continues `first` along the axis, in the tensor and in memory.
    static bool is_neighbour(shard const& first, shard const& next, std::size_t axis) {
        return are_in_row(first, next, axis) &&
               next.descriptor.region.offset[axis] == first.descriptor.region.end(axis) &&
               is_behind(first.tensor, next.tensor, axis);
    }

    /// True if both shards belong to one row of a tensor, and neither consists of blocks along it.
    static bool are_in_row(shard const& first, shard const& next, std::size_t axis) {
        shard_descriptor const &a = first.descriptor, &b = next.descriptor;
        if (a.flat || b.flat || axis >= a.region.ndim() || is_empty(a.region) || is_empty(b.region))
            return false;
        return !has_cycle_along(first, axis) && a.cycles == b.cycles && a.dtype == b.dtype &&
               row_of(first, axis) == row_of(next, axis) && a.key == b.key &&
               a.global_shape == b.global_shape;
    }

    static bool has_cycle_along(shard const& current_shard, std::size_t axis) {
        axis_cycles const& cycles = current_shard.descriptor.cycles;
        return std::any_of(cycles.begin(), cycles.end(),
                           [axis](axis_cycle const& cycle) { return cycle.axis == axis; });
    }

    /// True if `next` continues `first` in memory, element by element along the axis.
    static bool is_behind(const_tensor_view const& first, const_tensor_view const& next,
                          std::size_t axis) {
        return first.memory == next.memory && first.strides == next.strides &&
               bits(first.dtype) % 8 == 0 && is_countable(first, next, axis) &&
               address_of(first, axis, first.shape[axis]) == address_of(next, axis, 0);
    }

    /// True if the bytes of both together, along the axis, fit 64 bits.
    static bool is_countable(const_tensor_view const& first, const_tensor_view const& next,
                             std::size_t axis) {
        index_t const limit = std::numeric_limits<index_t>::max() / bits(first.dtype) /
                              (first.shape[axis] + next.shape[axis]);
        return -limit < first.strides[axis] && first.strides[axis] < limit;
    }

    /// The address of element `index` along the axis; the element need not exist.
    static std::uintptr_t address_of(const_tensor_view const& elements, std::size_t axis,
                                     index_t index) {
        auto const size = static_cast<std::uintptr_t>(bits(elements.dtype) / 8);
        return reinterpret_cast<std::uintptr_t>(elements.data) +
               static_cast<std::uintptr_t>(index) *
                   static_cast<std::uintptr_t>(elements.strides[axis]) * size;
    }

    static void extend(joined_shard& first, joined_shard const& next, std::size_t axis) {
        first.value.descriptor.region.shape[axis] += next.value.descriptor.region.shape[axis];
        first.value.tensor.shape[axis] += next.value.tensor.shape[axis];
        first.position = std::min(first.position, next.position);
    }

    std::size_t axes_ = 0;
    vector<joined_shard> shards_;
};

RESHARD_DECL vector<joined_shard> joined_shards(vector<joined_shard> shards) {
    return neighbour_joiner(std::move(shards)).joined();
}

} // namespace reshard::detail

#endif
