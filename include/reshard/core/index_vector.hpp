// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_INDEX_VECTOR_HPP
#define RESHARD_CORE_INDEX_VECTOR_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/members.hpp>
#include <reshard/core/vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>

/// \file
/// Shapes, offsets, strides: a few 64-bit numbers, one for each axis, that may be template
/// arguments.

namespace reshard {

/// A number of elements, or the position of an element. Signed, so that differences can be
/// negative.
using index_t = std::int64_t;

/// The largest number of axes of a tensor.
inline constexpr std::size_t max_ndim = 8;

namespace detail {

/// \name Functions that throw. They are out of line, so that their messages are compiled only once.
/// \{
[[noreturn, gnu::cold]] RESHARD_DECL void fail_many_axes();
[[noreturn, gnu::cold]] RESHARD_DECL void fail_product(index_t a, index_t b, std::string_view noun);
[[noreturn, gnu::cold]] RESHARD_DECL void fail_sum(index_t a, index_t b, std::string_view noun);
/// \}

} // namespace detail

/// Up to `max_ndim` numbers, one for each axis.
///
/// A structural type: all members are public so that a shape may be a template argument. Use the
/// member functions. Elements after `count` are zero, so that equal vectors are the same template
/// argument.
struct index_vector {
    index_t values[max_ndim] = {};
    std::size_t count = 0;

    constexpr index_vector() = default;

    /// \throws error with errc::limit_exceeded if there are more than `max_ndim` numbers
    constexpr index_vector(std::initializer_list<index_t> numbers) {
        for (index_t const number : numbers)
            push_back(number);
    }

    /// \throws error with errc::limit_exceeded if there are more than `max_ndim` numbers
    template <std::input_iterator Iterator>
    constexpr index_vector(Iterator first, Iterator last) {
        for (; first != last; ++first)
            push_back(static_cast<index_t>(*first));
    }

    /// A vector of `size` numbers, each equal to `value`.
    ///
    /// \throws error with errc::limit_exceeded if `size` exceeds `max_ndim`
    static constexpr index_vector filled(std::size_t size, index_t value) {
        index_vector result;
        while (result.size() < size)
            result.push_back(value);
        return result;
    }

    constexpr std::size_t size() const { return count; }
    constexpr bool empty() const { return count == 0; }

    constexpr index_t& operator[](std::size_t axis) {
        BOOST_ASSERT(axis < count);
        return values[axis];
    }
    constexpr index_t const& operator[](std::size_t axis) const {
        BOOST_ASSERT(axis < count);
        return values[axis];
    }

    constexpr index_t* begin() { return values; }
    constexpr index_t* end() { return values + count; }
    constexpr index_t const* begin() const { return values; }
    constexpr index_t const* end() const { return values + count; }

    static constexpr void members(auto& self, auto&& visit) {
        visit(detail::array_prefix{self.values, self.count});
    }

    /// \throws error with errc::limit_exceeded if the vector is full
    constexpr void push_back(index_t value) {
        if (count == max_ndim)
            detail::fail_many_axes();
        values[count++] = value;
    }

    constexpr bool operator==(index_vector const& other_numbers) const {
        return std::equal(begin(), end(), other_numbers.begin(), other_numbers.end());
    }

    /// Lexicographical order: the first number that differs decides.
    constexpr std::strong_ordering operator<=>(index_vector const& other_numbers) const {
        return std::lexicographical_compare_three_way(begin(), end(), other_numbers.begin(),
                                                      other_numbers.end());
    }
};

namespace detail {

/// `a * b`, checked for overflow.
///
/// \param noun the noun for the factors in the message
/// \pre        neither factor is negative
/// \throws     error with errc::overflow if the product does not fit 64 bits
constexpr index_t checked_multiply(index_t a, index_t b, std::string_view noun = "the extents") {
    BOOST_ASSERT(a >= 0 && b >= 0);
    index_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) // much faster than a division
        fail_product(a, b, noun);
    return product;
}

/// `a + b`, checked for overflow.
///
/// \param noun the noun for the summands in the message
/// \pre        neither summand is negative
/// \throws     error with errc::overflow if the sum does not fit 64 bits
constexpr index_t checked_add(index_t a, index_t b, std::string_view noun = "the extents") {
    BOOST_ASSERT(a >= 0 && b >= 0);
    if (b > std::numeric_limits<index_t>::max() - a)
        fail_sum(a, b, noun);
    return a + b;
}

} // namespace detail

/// The product of all extents: 1 for a scalar, 0 if an extent is zero.
///
/// \pre    no extent is negative
/// \throws error with errc::overflow if the product does not fit 64 bits; never if an extent is
///         zero
constexpr index_t element_count(index_vector const& shape) {
    if (std::find(shape.begin(), shape.end(), index_t{0}) != shape.end())
        return 0;
    index_t product = 1;
    for (index_t const extent : shape)
        product = detail::checked_multiply(product, extent);
    return product;
}

/// The numbers as text: `[2, 3]`; `[]` for a scalar.
RESHARD_DECL std::string to_string(index_vector const& numbers);

namespace detail {

/// An `index_vector` that takes less memory: 24 bytes, not 72, for up to two numbers.
///
/// Converts to and from `index_vector` implicitly. Functions take and return index vectors; types
/// with thousands of objects store packed vectors.
class packed_vector {
public:
    constexpr packed_vector() = default;

    /// \throws error with errc::limit_exceeded if there are more than `max_ndim` numbers
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
    constexpr bool operator==(index_vector const& values) const {
        return std::equal(begin(), end(), values.begin(), values.end());
    }

    friend std::string to_string(packed_vector const& numbers) {
        return reshard::to_string(index_vector(numbers));
    }

private:
    short_vector<index_t, 2> numbers_;
};

} // namespace detail

/// Strides in which the last axis runs fastest ("C order"); all 1 if the shape has no elements.
///
/// \par Units   elements
/// \throws      error with errc::overflow if the strides do not fit 64 bits
constexpr index_vector row_major_strides(index_vector const& shape) {
    index_vector strides = index_vector::filled(shape.size(), 1);
    if (element_count(shape) == 0)
        return strides;
    for (std::size_t axis = shape.size(); axis-- > 1;)
        strides[axis - 1] = detail::checked_multiply(strides[axis], shape[axis]);
    return strides;
}

namespace detail {

/// Strides in which the first axis runs fastest ("Fortran order"); all 1 if the shape has no
/// elements.
///
/// \par Units   elements
/// \throws      error with errc::overflow if the strides do not fit 64 bits
constexpr index_vector column_major_strides(index_vector const& shape) {
    index_vector strides = index_vector::filled(shape.size(), 1);
    if (element_count(shape) == 0)
        return strides;
    for (std::size_t axis = 1; axis < shape.size(); ++axis)
        strides[axis] = checked_multiply(strides[axis - 1], shape[axis - 1]);
    return strides;
}

/// The distance, in elements, from the first element to the element at `index`.
///
/// \pre `index.size() == strides.size()`
constexpr index_t linear_offset(index_vector const& index, index_vector const& strides) {
    BOOST_ASSERT(index.size() == strides.size());
    index_t position = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
        position += index[axis] * strides[axis];
    return position;
}

/// The row-major position of the element at `index`.
///
/// \pre    `index.size() == shape.size()`
/// \throws error with errc::overflow if the strides do not fit 64 bits
constexpr index_t ravel_index(index_vector const& index, index_vector const& shape) {
    return linear_offset(index, row_major_strides(shape));
}

/// The index of the element at row-major position `position`.
///
/// \pre  `0 <= position < element_count(shape)`
/// \post `ravel_index(unravel_index(position, shape), shape) == position`
constexpr index_vector unravel_index(index_t position, index_vector const& shape) {
    BOOST_ASSERT(0 <= position && position < element_count(shape));
    index_vector index = index_vector::filled(shape.size(), 0);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        index[axis] = position % shape[axis];
        position /= shape[axis];
    }
    return index;
}

/// True if the elements are contiguous in row-major order. The strides of axes of extent 1 are
/// ignored. If there are no elements, all strides are ignored.
///
/// \par Units strides in elements
/// \pre       `shape.size() == strides.size()`
constexpr bool is_row_major(index_vector const& shape, index_vector const& strides) {
    BOOST_ASSERT(shape.size() == strides.size());
    if (element_count(shape) == 0)
        return true;
    index_t expected = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] != 1 && strides[axis] != expected)
            return false;
        expected *= shape[axis];
    }
    return true;
}

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/core/impl/index_vector.ipp>
#endif

#endif
