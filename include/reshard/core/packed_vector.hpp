// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_PACKED_VECTOR_HPP
#define RESHARD_CORE_PACKED_VECTOR_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/core/short_list.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>

/// \file
/// An index vector that takes little memory, for use in large numbers.

namespace reshard::detail {

/// An `index_vector` that is as large as its numbers: 24 bytes for up to two of them, not 72.
///
/// It turns into an index vector and back by itself: functions take and return those, and values
/// that a program has thousands of are made of these.
class packed_vector {
public:
    constexpr packed_vector() = default;

    /// \throws error with errc::limit_exceeded when there are more than `max_ndim` numbers
    constexpr packed_vector(std::initializer_list<index_t> numbers)
        : packed_vector(index_vector(numbers)) {}

    constexpr packed_vector(index_vector const& numbers) {
        numbers_.append(numbers.begin(), numbers.size());
    }

    constexpr operator index_vector() const { return index_vector(begin(), end()); }

    constexpr index_vector recipe() const { return *this; }

    constexpr std::size_t size() const { return numbers_.size(); }
    constexpr bool empty() const { return size() == 0; }
    constexpr index_t const* begin() const { return numbers_.begin(); }
    constexpr index_t const* end() const { return numbers_.end(); }

    /// \pre `axis < size()`
    constexpr index_t& operator[](std::size_t axis) { return numbers_[axis]; }
    constexpr index_t const& operator[](std::size_t axis) const { return numbers_[axis]; }

    constexpr bool operator==(packed_vector const&) const = default;
    constexpr bool operator==(index_vector const& other) const {
        return std::equal(begin(), end(), other.begin(), other.end());
    }

private:
    short_list<index_t, 2> numbers_;
};

} // namespace reshard::detail

#endif
