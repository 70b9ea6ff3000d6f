// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_AXIS_JOINS_HPP
#define RESHARD_CORE_AXIS_JOINS_HPP

#include <reshard/core/index_vector.hpp>

#include <cstddef>
#include <cstdint>

/// \file
/// Axes that are several factors in one: what a reshape makes of the axes of a tensor.

namespace reshard {

/// Which of neighbouring factors are one axis, on the two sides of a move.
///
/// Both boxes of a move have the same elements and are made of the same *factors*. Without a
/// reshape each factor is an axis. Where it merges axes, several factors are one axis, the last of
/// them running fastest: of an axis of 6 that was merged of 2 and 3 the factors are 2 and 3.
///
/// Bit `k` of a side says that its factor `k` continues the axis of factor `k - 1`; the first
/// factors of a side without axes, all of extent 1, have the bit as well.
struct axis_joins {
    std::uint8_t source = 0;
    std::uint8_t target = 0;

    constexpr bool any() const { return source != 0 || target != 0; }
    constexpr bool operator==(axis_joins const&) const = default;
};

namespace detail {

constexpr bool is_joined(std::uint8_t joins, std::size_t factor) {
    return (joins >> factor & 1) != 0;
}

/// The extents of the axes that are made of factors of these extents.
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

/// Where along the axes an element is that stands at `offset` along the factors.
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

} // namespace detail

/// The strides of factors of these extents, given those of the axes that they make up.
///
/// \pre `strides` has a number an axis
constexpr index_vector factor_strides(index_vector const& strides, index_vector const& extents,
                                      std::uint8_t joins) {
    if (joins == 0)
        return strides;
    index_vector result = index_vector::filled(extents.size(), 0);
    std::size_t axis = strides.size();
    index_t inner = 1;
    for (std::size_t k = extents.size(); k-- > 0;) {
        result[k] = axis > 0 ? strides[axis - 1] * inner : 0;
        inner = detail::is_joined(joins, k) ? inner * extents[k] : 1;
        axis -= axis > 0 && !detail::is_joined(joins, k);
    }
    return result;
}

} // namespace reshard

#endif
