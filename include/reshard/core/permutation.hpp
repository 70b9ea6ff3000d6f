// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_PERMUTATION_HPP
#define RESHARD_CORE_PERMUTATION_HPP

#include <reshard/core/index_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// \file
/// An order of axes.

namespace reshard {

/// An order of axes: axis `j` of the result is axis `order[j]` of the argument.
///
/// Takes four bits for each axis, so that each of a million pieces can store its order.
class permutation {
public:
    constexpr permutation() = default;

    /// The order that keeps all axes in place.
    ///
    /// \pre `ndim <= max_ndim`
    static constexpr permutation identity(std::size_t ndim) {
        permutation order;
        for (std::size_t axis = 0; axis < ndim; ++axis)
            order.set(axis, axis);
        return order;
    }

    /// The order that reverses all axes.
    ///
    /// \pre `ndim <= max_ndim`
    static constexpr permutation reversed(std::size_t ndim) {
        permutation order;
        for (std::size_t axis = 0; axis < ndim; ++axis)
            order.set(axis, ndim - 1 - axis);
        return order;
    }

    /// The order that `axes` lists.
    ///
    /// \throws error with errc::shape_mismatch unless `axes` names each of `ndim` axes once
    static constexpr permutation of(index_vector const& axes, std::size_t ndim) {
        permutation order;
        index_vector values = index_vector::filled(ndim, 0);
        for (std::size_t axis = 0; axis < axes.size() && axes.size() == ndim; ++axis)
            if (axes[axis] >= 0 && axes[axis] < static_cast<index_t>(ndim)) {
                order.set(axis, static_cast<std::size_t>(axes[axis]));
                values[static_cast<std::size_t>(axes[axis])] = 1;
            }
        if (axes.size() != ndim || values != index_vector::filled(ndim, 1))
            fail(errc::shape_mismatch, "the permutation ", axes, " does not name ",
                 ndim == 1 ? std::string("the 1 axis")
                           : "each of the " + std::to_string(ndim) + " axes",
                 " once");
        return order;
    }

    /// The axis of the argument that becomes axis `axis` of the result.
    constexpr std::size_t operator[](std::size_t axis) const {
        return (nibbles_ >> (4 * axis)) & 15;
    }

    /// The vector in the new order: `result[j] == numbers[order[j]]`.
    ///
    /// \pre this is an order of `numbers.size()` axes
    constexpr index_vector apply(index_vector const& numbers) const {
        index_vector result = numbers;
        for (std::size_t axis = 0; axis < numbers.size(); ++axis)
            result[axis] = numbers[(*this)[axis]];
        return result;
    }

    /// The vector in the old order: `apply(undo(numbers)) == numbers`.
    ///
    /// \pre this is an order of `numbers.size()` axes
    constexpr index_vector undo(index_vector const& numbers) const {
        index_vector result = numbers;
        for (std::size_t axis = 0; axis < numbers.size(); ++axis)
            result[(*this)[axis]] = numbers[axis];
        return result;
    }

    /// Combines two orders: first this order, then `next`.
    /// `result.apply(x) == next.apply(apply(x))`.
    constexpr permutation then(permutation next, std::size_t ndim) const {
        permutation result;
        for (std::size_t axis = 0; axis < ndim; ++axis)
            result.set(axis, (*this)[next[axis]]);
        return result;
    }

    static constexpr void members(auto& self, auto&& visit) { visit(self.nibbles_); }

    constexpr bool operator==(permutation const&) const = default;

private:
    constexpr void set(std::size_t axis, std::size_t value) {
        nibbles_ |= static_cast<std::uint32_t>(value) << (4 * axis);
    }

    std::uint32_t nibbles_ = 0;
};

namespace detail {

/// The order as an index vector.
constexpr index_vector axes_of(permutation order, std::size_t ndim) {
    index_vector axes;
    for (std::size_t axis = 0; axis < ndim; ++axis)
        axes.push_back(static_cast<index_t>(order[axis]));
    return axes;
}

} // namespace detail

} // namespace reshard

#endif
