// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_SORTING_HPP
#define RESHARD_CORE_SORTING_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// Sorting by numbers: one sort for all types, so that a program does not compile one for each
/// type.

namespace reshard::detail {

/// A comparison of two elements by their numbers, called through a virtual function.
class number_order {
public:
    /// True if the element with number `a` comes before the one with number `b`.
    constexpr virtual bool is_before(std::uint32_t a, std::uint32_t b) const = 0;

protected:
    constexpr ~number_order() = default;
};

/// The order that a function of two numbers defines.
template <class Before>
class function_order final : public number_order {
public:
    constexpr explicit function_order(Before const& before) : before_(before) {}
    constexpr ~function_order() = default;

    constexpr bool is_before(std::uint32_t a, std::uint32_t b) const override {
        return before_(a, b);
    }

private:
    Before const& before_;
};

/// Sorts numbers. Numbers that compare equal are in ascending order.
constexpr void sort_in(std::vector<std::uint32_t>& numbers, number_order const& order) {
    std::sort(numbers.begin(), numbers.end(), [&](std::uint32_t a, std::uint32_t b) {
        return order.is_before(a, b) || (a < b && !order.is_before(b, a));
    });
}

/// Sorts numbers by a function of two of them. Numbers that compare equal are in ascending order.
///
/// \pre `is_before` is a strict weak order
template <class Before>
constexpr void sort_numbers(std::vector<std::uint32_t>& numbers, Before const& is_before) {
    sort_in(numbers, function_order<Before>(is_before));
}

/// Sorts values by a function of two of them. Values that compare equal keep their order.
/// Each comparison is an indirect call, and values are moved twice. If the speed of a job depends
/// on a sort, sort numbers instead.
/// depends on a sort, sort numbers instead.
///
/// \param values at most 2^32
/// \pre `is_before` is a strict weak order
template <class Values, class Before>
constexpr void sort_by(Values&& values, Before const& is_before) {
    auto const first = std::begin(values);
    std::vector<std::uint32_t> order(std::size(values), 0);
    for (std::uint32_t i = 0; i < order.size(); ++i)
        order[i] = i;
    sort_numbers(order,
                 [&](std::uint32_t a, std::uint32_t b) { return is_before(first[a], first[b]); });
    std::vector<std::remove_cvref_t<decltype(*first)>> sorted;
    sorted.reserve(order.size());
    for (std::uint32_t const i : order)
        sorted.push_back(std::move(first[i]));
    std::move(sorted.begin(), sorted.end(), first);
}

} // namespace reshard::detail

#endif
