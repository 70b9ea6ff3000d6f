// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_SELF_OVERLAP_HPP
#define RESHARD_TENSOR_SELF_OVERLAP_HPP

#include <reshard/core/index_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

/// \file
/// Checks whether elements of one tensor share an address.

namespace reshard::detail {

/// An axis whose step is shorter than the span of the axes with smaller steps.
///
/// \par Units elements, regardless of the sign of the stride
struct crowded_axis {
    std::size_t axis = 0;
    std::uint64_t step = 0; ///< the stride of the axis
    std::uint64_t taken =
        0; ///< the span of the axes with smaller steps, from the first element to the last, both
           ///< included

    constexpr bool operator==(crowded_axis const&) const = default;
};

/// An axis with more than one element; two indices differ by at most `reach` steps.
struct axis_steps {
    std::size_t axis;
    std::uint64_t step;
    std::uint64_t reach;

    constexpr std::uint64_t span() const { return step * reach; }
};

/// The axes with more than one element, in the order of their steps. If steps are equal, the later
/// axis comes first.
struct stepping_axes {
    axis_steps values[max_ndim] = {};
    std::size_t count = 0;

    constexpr stepping_axes(index_vector const& shape, index_vector const& strides) {
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            if (shape[axis] > 1) {
                auto const stride = static_cast<std::uint64_t>(strides[axis]);
                insert({axis, strides[axis] < 0 ? 0 - stride : stride,
                        static_cast<std::uint64_t>(shape[axis] - 1)});
            }
    }

    constexpr void insert(axis_steps const& steps) {
        std::size_t position = count++;
        for (; position > 0 && steps.step <= values[position - 1].step; --position)
            values[position] = values[position - 1];
        values[position] = steps;
    }

    constexpr std::uint64_t span() const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < count; ++i)
            sum += values[i].span();
        return sum;
    }

    constexpr void remove(std::size_t i) {
        std::copy(values + i + 1, values + count, values + i);
        --count;
    }
};

/// The greatest common divisor of the steps of all axes except axis number `i`.
constexpr std::uint64_t common_step_beside(stepping_axes const& axes, std::size_t i) {
    std::uint64_t common = 0;
    for (std::size_t other = 0; other < axes.count; ++other)
        if (other != i)
            common = std::gcd(common, axes.values[other].step);
    return common;
}

/// True if elements with the same address certainly have the same index along axis number `i`.
///
/// If two indices along this axis differ by `d`, the other axes must compensate for `d` steps. This
/// distance must be at most the span of the other axes, and a multiple of the common divisor of
/// their steps.
///
/// \pre no step is 0
constexpr bool has_distinct_index(stepping_axes const& axes, std::size_t i) {
    axis_steps const& axis_steps = axes.values[i];
    std::uint64_t const most =
        std::min(axis_steps.reach, (axes.span() - axis_steps.span()) / axis_steps.step);
    if (most == 0)
        return true;
    std::uint64_t const common = common_step_beside(axes, i);
    return most < common / std::gcd(common, axis_steps.step);
}

/// Removes an axis along which elements with the same address have the same index, if there is one.
constexpr bool remove_one(stepping_axes& axes) {
    for (std::size_t i = axes.count; i-- > 0;)
        if (has_distinct_index(axes, i)) {
            axes.remove(i);
            return true;
        }
    return false;
}

/// The axis to report if elements of a tensor may share an address; std::nullopt if they certainly
/// do not.
///
/// The result is exact if at most two axes interleave. In a region of a dense tensor, no axes
/// interleave. If three or more axes interleave, the result may name an axis even if no elements
/// share an address, because an exact answer is as hard as integer programming.
///
/// \par Units elements
/// \pre the span of the strides fits 64 bits, as `addresses` checks
constexpr std::optional<crowded_axis> self_overlap(index_vector const& shape,
                                                   index_vector const& strides) {
    if (element_count(shape) == 0)
        return std::nullopt;
    stepping_axes axes(shape, strides);
    if (axes.count > 0 && axes.values[0].step == 0)
        return crowded_axis{axes.values[0].axis, 0, 1};
    while (remove_one(axes)) {
    }
    if (axes.count == 0)
        return std::nullopt;
    axis_steps const& widest = axes.values[axes.count - 1];
    return crowded_axis{widest.axis, widest.step, axes.span() - widest.span() + 1};
}

} // namespace reshard::detail

#endif
