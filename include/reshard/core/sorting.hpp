// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_SORTING_HPP
#define RESHARD_CORE_SORTING_HPP

#include <reshard/core/vector.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

/// \file
/// Functions by reference, and sorting by numbers: one loop for all callers, so that a program does
/// not compile one for each function and each type.

namespace reshard::detail {

template <class Signature>
class function_ref;

/// A function of the caller, called through a virtual function. Also in constants, unlike
/// `std::function`.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
    struct callable {
        constexpr virtual Result call(Arguments... arguments) const = 0;

    protected:
        constexpr ~callable() = default;
    };

    template <class Function>
    struct reference final : callable {
        constexpr ~reference() = default;
        constexpr Result call(Arguments... arguments) const override {
            return (*function)(std::forward<Arguments>(arguments)...);
        }

        Function* function = nullptr;
    };

public:
    /// Refers to `function` until the end of the full expression: for parameters only.
    template <class Function>
        requires(!std::same_as<std::remove_cvref_t<Function>, function_ref>)
    constexpr function_ref(Function&& function,
                           reference<std::remove_reference_t<Function>>&& kept = {})
        : kept_(&kept) {
        kept.function = &function;
    }

    constexpr Result operator()(Arguments... arguments) const {
        return kept_->call(std::forward<Arguments>(arguments)...);
    }

private:
    callable const* kept_;
};

/// True if the element with the first number comes before the one with the second.
using number_order = function_ref<bool(std::uint32_t, std::uint32_t)>;

/// Sorts numbers by a function of two of them. Numbers that compare equal are in ascending order.
///
/// \pre `is_before` is a strict weak order
constexpr void sort_numbers(vector<std::uint32_t>& numbers, number_order is_before) {
    std::sort(numbers.begin(), numbers.end(), [&](std::uint32_t a, std::uint32_t b) {
        return is_before(a, b) || (a < b && !is_before(b, a));
    });
}

/// Sorts values by a function of two of them. Values that compare equal keep their order.
/// Each comparison is an indirect call, and values are moved twice. If the speed of a job depends
/// on a sort, sort numbers instead.
///
/// \param values at most 2^32
/// \pre `is_before` is a strict weak order
template <class Values, class Before>
constexpr void sort_by(Values&& values, Before const& is_before) {
    auto const first = std::begin(values);
    vector<std::uint32_t> order(std::size(values), 0);
    for (std::uint32_t i = 0; i < order.size(); ++i)
        order[i] = i;
    sort_numbers(order,
                 [&](std::uint32_t a, std::uint32_t b) { return is_before(first[a], first[b]); });
    vector<std::remove_cvref_t<decltype(*first)>> sorted;
    sorted.reserve(order.size());
    for (std::uint32_t const i : order)
        sorted.push_back(std::move(first[i]));
    std::move(sorted.begin(), sorted.end(), first);
}

} // namespace reshard::detail

#endif
