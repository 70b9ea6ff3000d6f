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
/// References to functions, and sorting by numbers. All callers share one compiled sort, so that a
/// program does not compile a sort for each function and each type.

namespace reshard::detail {

template <class Signature>
class function_ref;

/// A reference to a function, called through a virtual function. Unlike `std::function`, it also
/// works in constant expressions.
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
    /// Keeps a reference to `function`, so use this class only for parameters.
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

/// True if the element with the first number comes before the element with the second number.
using number_order = function_ref<bool(std::uint32_t, std::uint32_t)>;

/// Sorts numbers by a comparison function. Numbers that compare equal are in ascending order.
///
/// \pre `is_before` is a strict weak order
constexpr void sort_numbers(vector<std::uint32_t>& numbers, number_order is_before) {
    std::sort(numbers.begin(), numbers.end(), [&](std::uint32_t a, std::uint32_t b) {
        return a < b ? !is_before(b, a) : is_before(a, b);
    });
}

/// The numbers 0 to `size - 1`.
constexpr vector<std::uint32_t> ascending_numbers(std::size_t size) {
    vector<std::uint32_t> numbers(size);
    for (std::uint32_t i = 0; i < size; ++i)
        numbers[i] = i;
    return numbers;
}

/// Moves value `order[i]` to index `i`, for all `i`.
template <class T>
constexpr void reorder(T* values, vector<std::uint32_t> const& order) {
    vector<T> sorted;
    sorted.reserve(order.size());
    for (std::uint32_t const i : order)
        sorted.push_back(std::move(values[i]));
    for (T& value : sorted)
        *values++ = std::move(value);
}

/// Sorts values by a comparison function. Values that compare equal keep their order. Each
/// comparison is an indirect call, and each value is moved twice. If the sort is critical for
/// speed, sort numbers instead.
///
/// \param values at most 2^32 values, in contiguous memory
/// \pre `is_before` is a strict weak order
template <class Values, class Before>
constexpr void sort_by(Values&& values, Before const& is_before) {
    auto const first = std::begin(values);
    vector<std::uint32_t> order = ascending_numbers(std::size(values));
    sort_numbers(order,
                 [&](std::uint32_t a, std::uint32_t b) { return is_before(first[a], first[b]); });
    reorder(std::data(values), order);
}

/// Assigns numbers to items: two items have the same number if and only if they are equal.
struct equal_classes {
    vector<std::uint32_t> class_of;       ///< for each item
    vector<std::uint32_t> representative; ///< for each class, one of its items
};

/// Numbers classes in the order in which they first occur. Uses a hash table of the items' digests,
/// which is small if there are few classes.
class class_table {
public:
    /// The number of the class that has this digest and for which `is_it(number)` is true. If there
    /// is none, adds a class and returns its number.
    constexpr std::uint32_t number(std::uint64_t digest, auto&& is_it) {
        make_room();
        slot& match = slots_[find(digest, is_it)];
        if (match.number == none)
            match = {digest, size_++};
        return match.number;
    }

    static constexpr std::uint32_t none = 0xffffffff;

    /// Reserves memory for that many more classes.
    constexpr void reserve(std::size_t classes) {
        while (slots_.size() < 2 * (size_ + classes))
            enlarge();
    }

    /// The number of that class, or `none` if there is no such class.
    constexpr std::uint32_t find_number(std::uint64_t digest, auto&& is_it) const {
        return slots_[find(digest, is_it)].number;
    }

private:
    struct slot {
        std::uint64_t digest = 0;
        std::uint32_t number = none;
    };

    /// The index of the class's slot, or of the empty slot for it.
    constexpr std::size_t find(std::uint64_t digest, auto&& is_it) const {
        std::size_t at = digest & mask();
        while (slots_[at].number != none &&
               (slots_[at].digest != digest || !is_it(slots_[at].number)))
            at = (at + 1) & mask();
        return at;
    }

    /// Enlarges the table if one more class does not fit.
    constexpr void make_room() {
        if (2 * (std::size_t{size_} + 1) > slots_.size())
            enlarge();
    }

    constexpr void enlarge() {
        vector<slot> const before = std::exchange(slots_, vector<slot>(2 * slots_.size()));
        for (slot const& entry : before)
            if (entry.number != none)
                slots_[find(entry.digest, [](std::uint32_t) { return false; })] = entry;
    }

    constexpr std::size_t mask() const { return slots_.size() - 1; }

    /// The number of slots is a power of two. At most half of them are used.
    vector<slot> slots_ = vector<slot>(16);
    std::uint32_t size_ = 0;
};

/// Sorts the items 0 to `digests.size() - 1` into classes of equal items. `equal(i, j)` is called
/// only if the digests are equal.
///
/// For a model of 126 equal layers, only one layer is planned: that is a hundred times faster.
///
/// \pre  equal items have equal digests
/// \post classes are numbered in the order of their first items, which represent them
constexpr equal_classes classify(vector<std::uint64_t> const& digests, auto&& equal) {
    equal_classes result;
    result.class_of.reserve(digests.size());
    class_table table;
    for (std::uint32_t i = 0; i < digests.size(); ++i) {
        std::uint32_t const number = table.number(digests[i], [&](std::uint32_t candidate) {
            return equal(result.representative[candidate], i);
        });
        if (number == result.representative.size())
            result.representative.push_back(i);
        result.class_of.push_back(number);
    }
    return result;
}

} // namespace reshard::detail

#endif
