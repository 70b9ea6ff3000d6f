// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_IMPL_SHARD_LIST_IPP
#define RESHARD_TENSOR_IMPL_SHARD_LIST_IPP

#include <reshard/tensor/shard_list.hpp>

#include <reshard/core/sorting.hpp>
#include <reshard/tensor/impl/shard_runs.ipp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace reshard::detail {

/// Joins shards along each axis, the last axis first: blocks become rows, and rows become panels.
class neighbour_joiner {
public:
    neighbour_joiner(vector<joined_shard> shards, bool are_written)
        : shards_(std::move(shards)), are_written_(are_written) {
        for (joined_shard const& each : shards_)
            axes_ = std::max(axes_, each.value.descriptor.region.ndim());
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
    using shard = basic_local_shard<const_tensor_view>;

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
    bool is_neighbour(shard const& first, shard const& next, std::size_t axis) const {
        array_shard const a = array_shard_of(first), b = array_shard_of(next);
        box const& region = first.descriptor.region;
        if (axis >= region.ndim() || is_empty(region) ||
            !are_in_row(a, b, axis, std::numeric_limits<index_t>::max()) ||
            next.descriptor.region.offset[axis] != region.end(axis))
            return false;
        index_vector shape = a.shape;
        shape[axis] += b.shape[axis];
        return is_countable({a.descriptor, a.data, a.dtype, shape, a.strides, a.memory}) &&
               bytes_between(a, b) == a.shape[axis] * a.strides[axis] * bits(a.dtype) / 8 &&
               !(are_written_ && self_overlap(shape, a.strides));
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

    vector<joined_shard> shards_;
    bool are_written_;
    std::size_t axes_ = 0;
};

RESHARD_DECL vector<joined_shard> joined_shards(vector<joined_shard> shards, bool are_written) {
    return neighbour_joiner(std::move(shards), are_written).joined();
}

} // namespace reshard::detail

#endif
