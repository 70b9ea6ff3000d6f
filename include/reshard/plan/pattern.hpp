// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PATTERN_HPP
#define RESHARD_PLAN_PATTERN_HPP

#include <reshard/core/axis_joins.hpp>
#include <reshard/core/index_rows.hpp>
#include <reshard/expr/piece.hpp>

#include <cstdint>
#include <vector>

/// \file
/// The boxes of a cut on both sides, for any sender: the geometry that transfers share.

namespace reshard::detail {

/// One box of a source tensor that is one box of a target tensor.
///
/// The axes of both consist of the same factors, as in a `piece`.
///
/// \par Units elements, in global coordinates; `extent` in the order of the target's factors
struct cut {
    permutation order; ///< target factor `j` is source factor `order[j]`
    index_vector source_offset;
    index_vector target_offset;
    index_vector extent;
    axis_joins joins = {};

    constexpr std::size_t ndim() const { return target_offset.size(); }
    static constexpr void members(auto& self, auto&& visit) {
        visit(self.order, self.source_offset, self.target_offset, self.extent, self.joins);
    }

    constexpr box target_box() const {
        return {target_offset, joined_extents(extent, joins.target)};
    }
    constexpr box source_box() const {
        return {source_offset, joined_extents(order.undo(extent), joins.source)};
    }
    /// The strides of the target's factors if the strides of the axes are `of_axes`, here and
    /// below.
    constexpr index_vector target_strides(index_vector const& of_axes) const {
        return factor_strides(of_axes, extent, joins.target);
    }
    /// The strides of the source's factors, in the order of the target's factors.
    constexpr index_vector source_strides(index_vector const& of_axes) const {
        return order.apply(factor_strides(of_axes, order.undo(extent), joins.source));
    }
    constexpr bool operator==(cut const&) const = default;
};

/// \throws error with errc::bad_layout, errc::shape_mismatch or errc::overflow if the boxes are not
///         valid, or the order is not an order of their axes
constexpr void validate(cut const& part) {
    check_factors(part.order, part.extent, part.joins);
    if (!is_sound(part.target_box()) || !is_sound(part.source_box()))
        fail(errc::bad_layout, "it has a cut of the extents ", part.extent, " from ",
             part.source_offset, " to ", part.target_offset);
}

/// Only geometry: cuts without names, types or holders, so that equal layers share one pattern.
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
            return {orders_[i], row->source_offset, target_offsets_[i], row->extent, row->joins};
        return {orders_[i], source_offsets_[i], target_offsets_[i], extents_[i]};
    }

    /// \pre `i < size()`
    constexpr index_vector target_offset(std::size_t i) const { return target_offsets_[i]; }
    constexpr index_vector extent(std::size_t i) const {
        factor_row const* const row = factors_.find(i);
        return row ? row->extent : extents_[i];
    }

    constexpr void reserve(std::size_t cuts) {
        orders_.reserve(cuts);
        source_offsets_.reserve(cuts);
        target_offsets_.reserve(cuts);
        extents_.reserve(cuts);
    }

    /// \pre `geometry.target_offset.size() == ndim()`
    constexpr void push_back(cut const& geometry) {
        bool const has_factors = geometry.joins.any();
        index_vector const none = index_vector::filled(ndim(), 0);
        if (has_factors)
            factors_.push_back({static_cast<std::uint32_t>(size()), geometry.joins, geometry.extent,
                                geometry.source_offset});
        orders_.push_back(geometry.order);
        source_offsets_.push_back(has_factors ? none : geometry.source_offset);
        target_offsets_.push_back(geometry.target_offset);
        extents_.push_back(has_factors ? none : geometry.extent);
    }

    /// True if no reshape has touched a cut: then all cuts take the same memory.
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

    /// The memory that the pattern takes.
    ///
    /// \par Units bytes
    constexpr std::size_t bytes() const {
        return orders_.capacity() * sizeof(permutation) + source_offsets_.bytes() +
               target_offsets_.bytes() + extents_.bytes() + factors_.bytes();
    }

    constexpr bool operator==(pattern const&) const = default;

private:
    std::vector<permutation> orders_;
    index_rows source_offsets_;
    index_rows target_offsets_;
    index_rows extents_;
    factor_rows factors_; ///< the factors of cuts that a reshape has touched
};

} // namespace reshard::detail

#endif
