// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_AXIS_JOINS_HPP
#define RESHARD_CORE_AXIS_JOINS_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/permutation.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// Axes that consist of several factors. A reshape produces such axes from the common factors of
/// two shapes with the same elements.

namespace reshard::detail {

/// Which neighbouring factors form one axis, on each side of a move.
///
/// Both boxes of a move have the same elements and are made of the same *factors*. Without a
/// reshape, each factor is an axis. A reshape that merges axes combines several factors into one
/// axis; the last factor runs fastest. For example, an axis of 6 that was merged from axes of 2 and
/// 3 has the factors 2 and 3.
///
/// Bit `k` of a side is set if factor `k` continues the axis of factor `k - 1`. It is also set for
/// leading factors of extent 1 if the side has no axes.
struct axis_joins {
    std::uint8_t source = 0;
    std::uint8_t target = 0;

    constexpr bool any() const { return source != 0 || target != 0; }
    static constexpr void members(auto& self, auto&& visit) { visit(self.source, self.target); }

    constexpr bool operator==(axis_joins const&) const = default;
};

/// Boxes that repeat along axes, as in a block-cyclic distribution. There is one entry for each
/// axis of the target.
///
/// If boxes repeat at two levels, each axis has two entries: the entries of the inner level come
/// first, then those of the outer level.
///
/// \par Units elements of the global tensor; both vectors are empty if no box repeats
struct axis_repeats {
    index_vector count; ///< the number of boxes along each axis, 1 or more
    index_vector step;  ///< the distance from one box to the next; meaningless if the count is 1

    constexpr bool any() const { return count.size() != 0; }
    static constexpr void members(auto& self, auto&& visit) { visit(self.count, self.step); }

    constexpr bool operator==(axis_repeats const&) const = default;
};

constexpr bool is_joined(std::uint8_t joins, std::size_t factor) {
    return (joins >> factor & 1) != 0;
}

/// The axis to which a factor belongs.
///
/// \pre the side has axes
constexpr std::size_t axis_of_factor(std::uint8_t joins, std::size_t factor) {
    std::size_t axis = 0;
    for (std::size_t k = 1; k <= factor; ++k)
        axis += !is_joined(joins, k);
    return axis;
}

/// The extents of the axes that the factors `extents` form.
constexpr index_vector joined_extents(index_vector const& extents, std::uint8_t joins) {
    if (joins == 0)
        return extents;
    index_vector axes;
    for (std::size_t k = 0; k < extents.size(); ++k)
        if (!is_joined(joins, k))
            axes.push_back(extents[k]);
        else if (!axes.empty())
            axes[axes.size() - 1] *= extents[k];
    return axes;
}

/// Converts an element's index along the factors, `offset`, to its index along the axes.
constexpr index_vector joined_offset(index_vector const& offset, index_vector const& extents,
                                     std::uint8_t joins) {
    if (joins == 0)
        return offset;
    index_vector axes;
    for (std::size_t k = 0; k < extents.size(); ++k)
        if (!is_joined(joins, k))
            axes.push_back(offset[k]);
        else if (!axes.empty())
            axes[axes.size() - 1] = axes[axes.size() - 1] * extents[k] + offset[k];
    return axes;
}

/// True if factors of these extents can be joined as `joins` says.
constexpr bool are_joins(std::uint8_t joins, index_vector const& extents) {
    bool const have_axes = !is_joined(joins, 0);
    bool const all_joined = joins == (1u << extents.size()) - 1;
    return joins >> extents.size() == 0 &&
           (have_axes || (all_joined && element_count(extents) == 1));
}

/// Throws if factors do not fit the two boxes of a move.
///
/// \throws error with errc::shape_mismatch if the order does not name each factor once, with
///         errc::overflow if the factors have too many elements, with errc::bad_layout if they are
///         not valid extents or if `joins` does not fit them
constexpr void check_factors(permutation order, index_vector const& extents, axis_joins joins) {
    if (permutation::of(axes_of(order, extents.size()), extents.size()) != order)
        fail(errc::shape_mismatch, "the order of ", extents.size(),
             " factors names a factor that does not exist");
    if (!is_sound(whole(extents)))
        fail(errc::bad_layout, "the factors ", extents, " are not valid extents");
    bool const is_none = element_count(extents) == 0; // throws if the product overflows
    if ((joins.any() && is_none) || !are_joins(joins.target, extents) ||
        !are_joins(joins.source, order.undo(extents)))
        fail(errc::bad_layout, "the factors ", extents, " do not form the axes");
}

/// The strides of factors, given the strides of the axes that the factors form.
///
/// \pre `strides` has one number for each axis
constexpr index_vector factor_strides(index_vector const& strides, index_vector const& extents,
                                      std::uint8_t joins) {
    if (joins == 0)
        return strides;
    index_vector result = index_vector::filled(extents.size(), 0);
    std::size_t axis = strides.size();
    index_t inner = 1;
    for (std::size_t k = extents.size(); k-- > 0;) {
        result[k] = axis > 0 ? strides[axis - 1] * inner : 0;
        inner = is_joined(joins, k) ? inner * extents[k] : 1;
        axis -= axis > 0 && !is_joined(joins, k);
    }
    return result;
}

/// The factors of one row of a packed list. Only a few rows need them, so the list does not store
/// them.
struct factor_row {
    std::uint32_t row = 0;
    axis_joins joins;
    index_vector extent; ///< one for each factor, in the order of the target
    index_vector source_offset;
    axis_repeats repeats;

    constexpr bool operator==(factor_row const&) const = default;
};

/// Factors by row, for the rows that a reshape has changed or that repeat.
class factor_rows {
public:
    /// \pre rows are appended in ascending order
    constexpr void push_back(factor_row const& row) { rows_.push_back(row); }

    /// The factors of a row, or null if each of its axes is one factor.
    constexpr factor_row const* find(std::size_t row) const {
        if (rows_.empty())
            return nullptr;
        auto const position = std::lower_bound(
            rows_.begin(), rows_.end(), row, [](factor_row const& factor_row, std::size_t sought) {
                return factor_row.row < sought;
            });
        return position != rows_.end() && position->row == row ? &*position : nullptr;
    }

    /// The memory that the rows occupy.
    ///
    /// \par Units bytes
    constexpr std::size_t bytes() const { return rows_.capacity() * sizeof(factor_row); }

    constexpr bool operator==(factor_rows const&) const = default;

private:
    vector<factor_row> rows_;
};

/// The common factors of two shapes.
struct common_factors {
    index_vector extent;
    std::uint8_t before = 0; ///< how the factors are joined to the axes of the first shape
    std::uint8_t after = 0;  ///< how the factors are joined to the axes of the second shape
};

/// Collects factors from the last to the first.
class factor_finder {
public:
    /// Adds a factor in front of the existing factors. For each shape, the factor begins an axis or
    /// continues one.
    ///
    /// \throws error with errc::limit_exceeded if there are already `max_ndim` factors
    constexpr void push_front(index_t extent, bool begins_before, bool begins_after) {
        if (extents_.size() == max_ndim)
            fail(errc::limit_exceeded, "a reshape can split axes into at most ", max_ndim,
                 " factors, but this one needs more; reshape before merging or splitting other "
                 "axes");
        extents_.push_back(extent);
        begins_before_.push_back(begins_before);
        begins_after_.push_back(begins_after);
    }

    constexpr common_factors factors() const {
        common_factors factors;
        for (std::size_t k = extents_.size(); k-- > 0;)
            factors.extent.push_back(extents_[k]);
        factors.before = joins_of(begins_before_);
        factors.after = joins_of(begins_after_);
        return factors;
    }

private:
    /// Factors in front of the first axis all have extent 1. They become part of the first axis if
    /// one exists.
    static constexpr std::uint8_t joins_of(index_vector const& begins) {
        unsigned joins = 0;
        std::size_t first = 0; // the factor that begins the first axis
        std::size_t const last = begins.size();
        for (std::size_t k = 0; k < last; ++k)
            joins |= (begins[last - 1 - k] == 0 ? 1u : 0u) << k;
        while (first < last && (joins >> first & 1) != 0)
            ++first;
        if (first > 0 && first < last)
            joins = (joins & ~1u) | 1u << first;
        return static_cast<std::uint8_t>(joins);
    }

    index_vector extents_;
    index_vector begins_before_; ///< 1: begins an axis
    index_vector begins_after_;
};

/// The coarsest common factors of two shapes. The result is empty if an extent of one shape ends
/// inside an extent of the other shape and does not divide it.
///
/// \pre both shapes have the same number of elements, and at least one
constexpr std::optional<common_factors> factors_of(index_vector const& before,
                                                   index_vector const& after) {
    factor_finder finder;
    std::size_t i = before.size(), j = after.size();
    index_t a = i > 0 ? before[i - 1] : 1, b = j > 0 ? after[j - 1] : 1;
    while (i > 0 || j > 0) {
        index_t const factor = i == 0 ? b : j == 0 ? a : std::min(a, b);
        if (a % factor != 0 || b % factor != 0)
            return std::nullopt;
        a /= factor;
        b /= factor;
        // an axis ends when its extent is used up; both axes may end here
        bool const ends_before = i > 0 && a == 1 && (factor != 1 || before[i - 1] == 1);
        bool const ends_after = j > 0 && b == 1 && (factor != 1 || after[j - 1] == 1);
        finder.push_front(factor, ends_before, ends_after);
        if (ends_before)
            a = --i > 0 ? before[i - 1] : 1;
        if (ends_after)
            b = --j > 0 ? after[j - 1] : 1;
    }
    return finder.factors();
}

/// Merges neighbouring axes of two shapes until both have the same axis boundaries, and returns the
/// merged shape.
///
/// \pre both shapes have the same number of elements, and at least one
constexpr index_vector merged_shape(index_vector const& before, index_vector const& after) {
    index_vector merged;
    for (std::size_t i = 0, j = 0; i < before.size() || j < after.size();) {
        index_t a = i < before.size() ? before[i++] : 1;
        index_t b = j < after.size() ? after[j++] : 1;
        while (a != b)
            if (a < b)
                a *= before[i++];
            else
                b *= after[j++];
        merged.push_back(a);
    }
    return merged;
}

} // namespace reshard::detail

#endif
