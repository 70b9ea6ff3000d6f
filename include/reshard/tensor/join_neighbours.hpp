// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_JOIN_NEIGHBOURS_HPP
#define RESHARD_TENSOR_JOIN_NEIGHBOURS_HPP

#include <reshard/core/config.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Shards that are neighbours in their tensor and in memory, as one shard.

namespace reshard::detail {

/// The bytes from `begin` up to, not including, `end`.
///
/// \par Units bytes
struct address_range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    constexpr std::uintptr_t bytes() const { return end - begin; }
    constexpr bool empty() const { return begin == end; }

    constexpr bool operator==(address_range const&) const = default;
};

/// True where the ranges share a byte.
constexpr bool overlap(address_range const& a, address_range const& b) {
    return !a.empty() && !b.empty() && a.begin < b.end && b.begin < a.end;
}

/// Elements before and behind the one at index 0, 0, ...; neither is negative.
struct element_reach {
    index_t before = 0;
    index_t behind = 0;
};

/// What overflows where strides exceed 64 bits.
inline constexpr std::string_view strides_reach = "a tensor's extents and strides";

/// How far the elements reach from the first one.
///
/// \pre    there is an element
/// \throws error with errc::overflow where strides overflow 64 bits
constexpr element_reach reach_of(index_vector const& shape, index_vector const& strides) {
    element_reach reach;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        index_t const stride = std::max(strides[axis], -std::numeric_limits<index_t>::max());
        index_t& side = stride < 0 ? reach.before : reach.behind;
        side = checked_add(side, checked_multiply(shape[axis] - 1, stride < 0 ? -stride : stride),
                           strides_reach);
    }
    return reach;
}

/// The smallest range that holds every byte of `elements`; empty where there is no element.
///
/// What lies between the elements of a strided tensor is in the range too.
///
/// \throws error with errc::overflow where strides overflow 64 bits
RESHARD_DECL address_range addresses(const_tensor_view const& elements);

/// False where the tensors certainly share no memory.
///
/// Interleaved tensors, such as two column blocks of one row-major matrix, may share none and still
/// lie in overlapping ranges: exact answers are as hard as integer programming.
///
/// \throws error with errc::overflow where strides overflow 64 bits
RESHARD_DECL bool may_share_memory(const_tensor_view const& a, const_tensor_view const& b);

/// Joins shards along one axis after the other, the last one first: blocks to rows, rows to panels.
template <class View>
class neighbour_joiner {
public:
    using shard = basic_local_shard<View>;

    explicit neighbour_joiner(basic_state_dict<View> const& shards) {
        shards_.reserve(shards.size());
        std::size_t most_axes = 0;
        for (shard const& one : shards) {
            shards_.push_back({one, shards_.size()});
            most_axes = std::max(most_axes, one.tensor.ndim());
        }
        for (std::size_t axis = most_axes; axis-- > 0;)
            join_along(axis);
    }

    basic_state_dict<View> joined() && {
        std::ranges::sort(shards_, {}, &numbered_shard::position);
        basic_state_dict<View> result;
        for (numbered_shard& joint : shards_)
            result.add(std::move(joint.value.descriptor), joint.value.tensor);
        return result;
    }

private:
    struct numbered_shard {
        shard value;
        std::size_t position; ///< of its first shard among all
    };

    void join_along(std::size_t axis) {
        std::ranges::sort(shards_, [axis](numbered_shard const& a, numbered_shard const& b) {
            return comes_before(a.value, b.value, axis);
        });
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

    /// Shards of a row along the axis come together, by their places in it.
    static bool comes_before(shard const& a, shard const& b, std::size_t axis) {
        if (int const order = a.descriptor.key.compare(b.descriptor.key))
            return order < 0;
        box const row_a = row_of(a, axis), row_b = row_of(b, axis);
        if (row_a.offset != row_b.offset)
            return std::ranges::lexicographical_compare(row_a.offset, row_b.offset);
        if (row_a.shape != row_b.shape)
            return std::ranges::lexicographical_compare(row_a.shape, row_b.shape);
        return std::pair(line_of(a, axis), offset(a, axis)) <
               std::pair(line_of(b, axis), offset(b, axis));
    }

    /// What is equal for all shards of a row: where they are on the other axes.
    static box row_of(shard const& one, std::size_t axis) {
        box row = one.descriptor.region;
        if (axis < row.ndim())
            row.offset[axis] = row.shape[axis] = 0;
        return row;
    }

    static index_t offset(shard const& one, std::size_t axis) {
        return axis < one.descriptor.region.ndim() ? one.descriptor.region.offset[axis] : 0;
    }

    /// Where the tensor's first element along the axis would be: equal for neighbours in one array,
    /// so that copies in other arrays do not come between them.
    static std::uintptr_t line_of(shard const& one, std::size_t axis) {
        return axis < one.tensor.ndim() ? address_of(one.tensor, axis, -offset(one, axis)) : 0;
    }

    static bool is_neighbour(shard const& first, shard const& next, std::size_t axis) {
        shard_descriptor const &a = first.descriptor, &b = next.descriptor;
        if (a.flat || b.flat || !a.cycles.empty() || !b.cycles.empty() || axis >= a.region.ndim() ||
            is_empty(a.region) || is_empty(b.region))
            return false;
        return a.key == b.key && a.dtype == b.dtype && a.global_shape == b.global_shape &&
               row_of(first, axis) == row_of(next, axis) &&
               b.region.offset[axis] == a.region.offset[axis] + a.region.shape[axis] &&
               is_behind(first.tensor, next.tensor, axis);
    }

    /// True where `next` continues `first` in memory, element by element along the axis.
    static bool is_behind(View const& first, View const& next, std::size_t axis) {
        return first.memory == next.memory && first.strides == next.strides &&
               bits(first.dtype) % 8 == 0 && is_countable(first, next, axis) &&
               address_of(first, axis, first.shape[axis]) == address_of(next, axis, 0);
    }

    /// True where 64 bits count the bytes from the first element of one to behind the last one of
    /// both.
    static bool is_countable(View const& first, View const& next, std::size_t axis) {
        index_t const limit = std::numeric_limits<index_t>::max() / bits(first.dtype) /
                              (first.shape[axis] + next.shape[axis]);
        return -limit < first.strides[axis] && first.strides[axis] < limit;
    }

    /// Where element `index` along the axis is, or would be.
    static std::uintptr_t address_of(View const& elements, std::size_t axis, index_t index) {
        auto const size = static_cast<std::uintptr_t>(bits(elements.dtype) / 8);
        return reinterpret_cast<std::uintptr_t>(elements.data) +
               static_cast<std::uintptr_t>(index) *
                   static_cast<std::uintptr_t>(elements.strides[axis]) * size;
    }

    static void extend(numbered_shard& first, numbered_shard const& next, std::size_t axis) {
        index_t const more = next.value.tensor.shape[axis];
        first.value.descriptor.region.shape[axis] += more;
        first.value.tensor.shape[axis] += more;
        first.position = std::min(first.position, next.position);
    }

    std::vector<numbered_shard> shards_;
};

/// The same elements in fewer shards, where some are neighbours along an axis and of one size
/// across it.
///
/// The local array of a block-cyclic distribution holds thousands of blocks; where blocks that are
/// neighbours in it are neighbours in the tensor, too, they are one shard. Flat shards, empty ones,
/// and those with strides of their own stay as they are. Shards come in the order of their first
/// parts.
///
/// \post every element has the address that it had
template <class View>
basic_state_dict<View> join_neighbours(basic_state_dict<View> const& shards) {
    return neighbour_joiner<View>(shards).joined();
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/tensor/impl/join_neighbours.ipp>
#endif

#endif
