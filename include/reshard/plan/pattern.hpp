// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PATTERN_HPP
#define RESHARD_PLAN_PATTERN_HPP

#include <reshard/core/axis_joins.hpp>
#include <reshard/core/index_rows.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/piece.hpp>

#include <cstdint>

/// \file
/// The boxes of a cut on both sides, for any sender: geometry that transfers share.

namespace reshard::detail {

/// A box of a source tensor that becomes a box of a target tensor, or such boxes that repeat.
///
/// The axes of both boxes consist of the same factors, as in a `piece`. A copy loops over these
/// factors. Along an axis with repeated boxes, an outer loop goes over the boxes.
///
/// \par Units elements, in global coordinates; `extent` in the order of the target's factors
struct cut {
    permutation order; ///< target factor `j` is source factor `order[j]`
    index_vector source_offset;
    index_vector target_offset;
    index_vector extent;
    axis_joins joins = {};
    axis_repeats repeats = {}; ///< none if there are joins

    constexpr std::size_t ndim() const { return target_offset.size(); }
    static constexpr void members(auto& self, auto&& visit) {
        visit(self.order, self.source_offset, self.target_offset, self.extent, self.joins,
              self.repeats);
    }

    constexpr index_t elements() const {
        return element_count(extent) * (repeats.any() ? element_count(repeats.count) : 1);
    }

    /// The first of the boxes, here and below.
    constexpr box target_box() const {
        return {target_offset, joined_extents(extent, joins.target)};
    }
    constexpr box source_box() const {
        return {source_offset, joined_extents(order.undo(extent), joins.source)};
    }
    /// Calls `visit(box)` for each of its boxes in the target.
    constexpr void for_each_target_box(auto&& visit) const {
        box const first = target_box();
        if (!repeats.any())
            return visit(first);
        index_t const count = element_count(repeats.count);
        for (index_t number = 0; number < count; ++number) {
            index_vector const at = unravel_index(number, repeats.count);
            box each = first;
            for (std::size_t i = 0; i < at.size(); ++i)
                each.offset[i % ndim()] += at[i] * repeats.step[i];
            visit(each);
        }
    }

    /// The extents of the loops that copy the cut. Along each axis of the target, the loops over
    /// repeated boxes come first, then the loop over the elements of a box.
    constexpr index_vector loop_extent() const {
        if (!repeats.any())
            return extent;
        return by_loop([&](std::size_t, std::size_t i) { return repeats.count[i]; },
                       [&](std::size_t axis) { return extent[axis]; });
    }

    /// The strides of these loops in a shard, here and below.
    ///
    /// \param of_axes the shard's strides, as in `strides_in_block`
    /// \param cycles  the axes along which the shard is block-cyclic
    constexpr index_vector target_strides(index_vector const& of_axes,
                                          axis_cycles const& cycles) const {
        index_vector const strides =
            factor_strides(strides_in_block(of_axes, target_offset.size()), extent, joins.target);
        if (!repeats.any())
            return strides;
        return by_loop(
            [&](std::size_t axis, std::size_t i) {
                return memory_step(cycles, of_axes, ndim(), axis, repeats.step[i]);
            },
            [&](std::size_t axis) { return strides[axis]; });
    }
    constexpr index_vector source_strides(index_vector const& of_axes,
                                          axis_cycles const& cycles) const {
        index_vector const strides = order.apply(factor_strides(
            strides_in_block(of_axes, source_offset.size()), order.undo(extent), joins.source));
        if (!repeats.any())
            return strides;
        return by_loop(
            [&](std::size_t axis, std::size_t i) {
                return memory_step(cycles, of_axes, ndim(), order[axis], repeats.step[i]);
            },
            [&](std::size_t axis) { return strides[axis]; });
    }

    /// A number for each loop; a loop with a lower number is farther out in the source.
    constexpr index_vector source_order() const {
        auto const first = [&](std::size_t axis) { return 3 * static_cast<index_t>(order[axis]); };
        return by_loop(
            [&](std::size_t axis, std::size_t i) { return first(axis) + (i < extent.size()); },
            [&](std::size_t axis) { return first(axis) + 2; });
    }

    constexpr bool operator==(cut const&) const = default;

private:
    /// A number for each loop: `of_boxes(axis, i)` for number `i` of `repeats`, and
    /// `of_elements(axis)` for elements.
    constexpr index_vector by_loop(auto const& of_boxes, auto const& of_elements) const {
        index_vector loops;
        for (std::size_t axis = 0; axis < extent.size(); ++axis) {
            for (std::size_t level = repeats.count.size() / extent.size(); level-- > 0;)
                if (std::size_t const i = level * extent.size() + axis; repeats.count[i] > 1)
                    loops.push_back(of_boxes(axis, i));
            loops.push_back(of_elements(axis));
        }
        return loops;
    }
};

/// \throws error with errc::bad_layout unless its boxes repeat along axes without an overlap
constexpr void check_repeats(cut const& part) {
    auto const& [count, step] = part.repeats;
    std::size_t const ndim = part.ndim();
    bool are_apart = !part.joins.any() && step.size() == count.size() &&
                     (count.size() == ndim || count.size() == 2 * ndim);
    std::size_t loops = ndim;
    index_vector span = part.extent;
    for (std::size_t i = 0; are_apart && i < count.size(); ++i) {
        index_t const inner = span[i % ndim];
        are_apart = count[i] == 1 || (count[i] > 1 && inner > 0 && step[i] >= inner);
        loops += count[i] > 1;
        if (are_apart && count[i] > 1)
            span[i % ndim] = checked_add(checked_multiply(count[i] - 1, step[i]), inner);
    }
    if (are_apart)
        static_cast<void>(element_count(span));
    if (!are_apart || loops > max_ndim || !is_sound(box{part.target_offset, span}) ||
        !is_sound(box{part.source_offset, part.order.undo(span)}))
        fail(errc::bad_layout, "it has boxes of extents ", part.extent, " that repeat ", count,
             " times by ", step);
}

/// \throws error with errc::bad_layout, errc::shape_mismatch or errc::overflow if the boxes are
///         invalid, or if the order of axes is not a permutation of their axes
constexpr void validate(cut const& part) {
    check_factors(part.order, part.extent, part.joins);
    if (part.repeats.any())
        check_repeats(part);
    if (!is_sound(part.target_box()) || !is_sound(part.source_box()))
        fail(errc::bad_layout, "it has a cut of extents ", part.extent, " from ",
             part.source_offset, " to ", part.target_offset);
}

/// Cuts without names, types or holders, so that equal layers share one pattern.
class pattern {
public:
    constexpr pattern() = default;
    constexpr explicit pattern(std::size_t ndim)
        : source_offsets_(ndim), target_offsets_(ndim), extents_(ndim) {}

    constexpr std::size_t size() const { return orders_.size(); }
    constexpr std::size_t ndim() const { return extents_.ndim(); }

    /// \pre `i < size()`
    constexpr cut operator[](std::size_t i) const {
        if (factor_row const* const row = factors_.find(i))
            return {orders_[i],  row->source_offset, target_offsets_[i],
                    row->extent, row->joins,         row->repeats};
        return {orders_[i], source_offsets_[i], target_offsets_[i], extents_[i]};
    }

    /// \pre `i < size()`
    constexpr index_vector target_offset(std::size_t i) const { return target_offsets_[i]; }
    constexpr index_t elements(std::size_t i) const {
        return factors_.find(i) ? (*this)[i].elements() : element_count(extents_[i]);
    }

    constexpr void reserve(std::size_t cuts) {
        orders_.reserve(cuts);
        source_offsets_.reserve(cuts);
        target_offsets_.reserve(cuts);
        extents_.reserve(cuts);
    }

    /// \pre `geometry.target_offset.size() == ndim()`
    constexpr void push_back(cut const& geometry) {
        bool const has_factors = geometry.joins.any() || geometry.repeats.any();
        index_vector const none = index_vector::filled(ndim(), 0);
        if (has_factors)
            factors_.push_back({static_cast<std::uint32_t>(size()), geometry.joins, geometry.extent,
                                geometry.source_offset, geometry.repeats});
        orders_.push_back(geometry.order);
        source_offsets_.push_back(has_factors ? none : geometry.source_offset);
        target_offsets_.push_back(geometry.target_offset);
        extents_.push_back(has_factors ? none : geometry.extent);
    }

    /// Whether no cut has joins or repeats, so that all cuts take equal memory.
    constexpr bool is_uniform() const { return factors_ == factor_rows(); }

    /// Overwrites a cut.
    ///
    /// \pre `i < size()`, and `is_uniform()` with that cut
    constexpr void assign(std::size_t i, cut const& geometry) {
        orders_[i] = geometry.order;
        source_offsets_.assign(i, geometry.source_offset);
        target_offsets_.assign(i, geometry.target_offset);
        extents_.assign(i, geometry.extent);
    }

    /// The memory of the pattern.
    ///
    /// \par Units bytes
    constexpr std::size_t bytes() const {
        return orders_.capacity() * sizeof(permutation) + source_offsets_.bytes() +
               target_offsets_.bytes() + extents_.bytes() + factors_.bytes();
    }

    constexpr bool operator==(pattern const&) const = default;

private:
    vector<permutation> orders_;
    index_rows source_offsets_;
    index_rows target_offsets_;
    index_rows extents_;
    factor_rows factors_; ///< of cuts that have joins or repeats
};

} // namespace reshard::detail

#endif
