// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_INDEX_ROWS_HPP
#define RESHARD_CORE_INDEX_ROWS_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

/// \file
/// Many index vectors of the same length in one block of memory. Tables of boxes use them.

namespace reshard::detail {

/// Rows of `ndim` numbers in one block of memory.
///
/// A `box` takes 144 bytes for any number of axes, and page faults dominate the time of a plan with
/// a million boxes. Here a box of a matrix takes two rows of 8 bytes, or of 16 bytes if a number in
/// the table does not fit 32 bits. A single short row is stored inside the object, since most
/// tensors of a program have one piece.
class index_rows {
public:
    constexpr index_rows() = default;
    constexpr explicit index_rows(std::size_t ndim) : ndim_(static_cast<std::uint16_t>(ndim)) {}

    constexpr std::size_t ndim() const { return ndim_; }
    constexpr std::size_t size() const { return size_; }
    constexpr void reserve(std::size_t rows) { words_.reserve(rows * ndim_ * words_each()); }

    /// \pre `row.size() == ndim()`
    constexpr void push_back(index_vector const& row) {
        BOOST_ASSERT(row.size() == ndim_);
        for (index_t const value : row)
            if (!is_wide_ && !is_narrow(value))
                widen();
        for (index_t const value : row)
            add(value);
        ++size_;
    }

    /// Appends the rows of another table.
    ///
    /// \pre `other_rows.ndim() == ndim()`
    constexpr void append(index_rows const& other_rows) {
        BOOST_ASSERT(other_rows.ndim_ == ndim_);
        if (is_wide_ == other_rows.is_wide_) {
            words_.append(other_rows.words_.data(), other_rows.words_.size());
            size_ += other_rows.size_;
        } else
            for (std::size_t row = 0; row < other_rows.size_; ++row)
                push_back(other_rows[row]);
    }

    /// Adds `distance` to one column of all rows from `first` on.
    ///
    /// \pre `column < ndim()`
    constexpr void shift(std::size_t first, std::size_t column, index_t distance) {
        BOOST_ASSERT(column < ndim_);
        for (std::size_t row = first; row < size_; ++row) {
            index_t const value = at(row * ndim_ + column) + distance;
            if (!is_wide_ && !is_narrow(value))
                widen();
            set(row * ndim_ + column, value);
        }
    }

    /// Overwrites a row.
    ///
    /// \pre `row < size()` and `numbers.size() == ndim()`
    constexpr void assign(std::size_t row, index_vector const& numbers) {
        BOOST_ASSERT(row < size_ && numbers.size() == ndim_);
        for (index_t const value : numbers)
            if (!is_wide_ && !is_narrow(value))
                widen();
        for (std::size_t column = 0; column < ndim_; ++column)
            set(row * ndim_ + column, numbers[column]);
    }

    /// \pre `row < size()`
    constexpr index_vector operator[](std::size_t row) const {
        BOOST_ASSERT(row < size_);
        index_vector result;
        for (std::size_t column = 0; column < ndim_; ++column)
            result.values[column] = at(row * ndim_ + column);
        result.count = ndim_;
        return result;
    }

    /// One number of a row. Faster than reading the whole row.
    ///
    /// \pre `row < size()` and `column < ndim()`
    constexpr index_t number(std::size_t row, std::size_t column) const {
        BOOST_ASSERT(row < size_ && column < ndim_);
        return at(row * ndim_ + column);
    }

    /// Adds all numbers to a digest, row after row.
    constexpr void add_to(hasher& digest) const {
        digest.add(std::uint64_t{size_} * ndim_);
        for (std::size_t i = 0; i < std::size_t{size_} * ndim_; ++i)
            digest.add(static_cast<std::uint64_t>(at(i)));
    }

    /// The memory that the numbers occupy.
    constexpr std::size_t bytes() const { return words_.bytes(); }

    constexpr bool operator==(index_rows const& other_rows) const {
        if (size_ != other_rows.size_ || ndim_ != other_rows.ndim_)
            return false;
        if (is_wide_ == other_rows.is_wide_)
            return words_ == other_rows.words_;
        for (std::size_t i = 0; i < std::size_t{size_} * ndim_; ++i)
            if (at(i) != other_rows.at(i))
                return false;
        return true;
    }

private:
    static constexpr bool is_narrow(index_t value) {
        return value >= std::numeric_limits<std::int32_t>::min() &&
               value <= std::numeric_limits<std::int32_t>::max();
    }

    constexpr std::size_t words_each() const { return is_wide_ ? 2 : 1; }

    constexpr index_t at(std::size_t i) const {
        if (!is_wide_)
            return static_cast<std::int32_t>(words_[i]);
        return static_cast<index_t>(std::uint64_t{words_[2 * i + 1]} << 32 | words_[2 * i]);
    }

    constexpr void set(std::size_t i, index_t value) {
        auto const bits = static_cast<std::uint64_t>(value);
        words_[i * words_each()] = static_cast<std::uint32_t>(bits);
        if (is_wide_)
            words_[2 * i + 1] = static_cast<std::uint32_t>(bits >> 32);
    }

    constexpr void add(index_t value) {
        auto const bits = static_cast<std::uint64_t>(value);
        words_.push_back(static_cast<std::uint32_t>(bits));
        if (is_wide_)
            words_.push_back(static_cast<std::uint32_t>(bits >> 32));
    }

    /// Stores every number in two words from now on.
    constexpr void widen() {
        index_rows wide(ndim_);
        wide.is_wide_ = true;
        wide.reserve(size_ + 1);
        for (std::size_t row = 0; row < size_; ++row)
            wide.push_back((*this)[row]);
        *this = std::move(wide);
    }

    std::uint16_t ndim_ = 0;
    bool is_wide_ = false; ///< whether a number does not fit 32 bits
    std::uint32_t size_ = 0;
    short_vector<std::uint32_t, 6> words_; ///< the low word of each number comes first
};

/// Boxes of one tensor, packed.
class box_list {
public:
    constexpr box_list() = default;
    constexpr explicit box_list(std::size_t ndim) : offsets_(ndim), shapes_(ndim) {}

    constexpr std::size_t ndim() const { return offsets_.ndim(); }
    constexpr std::size_t size() const { return offsets_.size(); }
    constexpr bool empty() const { return size() == 0; }
    /// The memory that the boxes occupy.
    constexpr std::size_t bytes() const { return offsets_.bytes() + shapes_.bytes(); }

    constexpr void reserve(std::size_t boxes) {
        offsets_.reserve(boxes);
        shapes_.reserve(boxes);
    }

    /// \pre `region.ndim() == ndim()`
    constexpr void push_back(box const& region) {
        offsets_.push_back(region.offset);
        shapes_.push_back(region.shape);
    }

    /// Appends the boxes of another list, shifted by `distance` along an axis.
    constexpr void append_moved(box_list const& boxes, std::size_t axis, index_t distance) {
        std::size_t const first = size();
        offsets_.append(boxes.offsets_);
        offsets_.shift(first, axis, distance);
        shapes_.append(boxes.shapes_);
    }

    /// \pre `i < size()`
    constexpr box operator[](std::size_t i) const { return {offsets_[i], shapes_[i]}; }

    /// Compares two boxes without unpacking them. `add_to` adds a box to a digest in the same way.
    ///
    /// \pre `i < size()`, here and below
    constexpr bool are_equal(std::size_t i, std::size_t other) const {
        for (std::size_t axis = 0; axis < ndim(); ++axis)
            if (offsets_.number(i, axis) != offsets_.number(other, axis) ||
                shapes_.number(i, axis) != shapes_.number(other, axis))
                return false;
        return true;
    }
    constexpr void add_to(hasher& digest, std::size_t i) const {
        for (std::size_t axis = 0; axis < ndim(); ++axis) {
            digest.add(static_cast<std::uint64_t>(offsets_.number(i, axis)));
            digest.add(static_cast<std::uint64_t>(shapes_.number(i, axis)));
        }
    }

    /// True if a box shares elements with `region`. Does not unpack the box.
    ///
    /// \pre `i < size()` and `region.ndim() == ndim()`
    constexpr bool overlaps(std::size_t i, box const& region) const {
        BOOST_ASSERT(region.ndim() == ndim());
        for (std::size_t axis = 0; axis < ndim(); ++axis) {
            index_t const first = offsets_.number(i, axis);
            if (std::max(first, region.offset[axis]) >=
                std::min(first + shapes_.number(i, axis), region.end(axis)))
                return false;
        }
        return true;
    }

    /// The elements that a box shares with `region`.
    ///
    /// \pre `overlaps(i, region)`
    constexpr box common(std::size_t i, box const& region) const {
        box shared = region;
        for (std::size_t axis = 0; axis < ndim(); ++axis) {
            index_t const first = offsets_.number(i, axis);
            shared.offset[axis] = std::max(first, region.offset[axis]);
            shared.shape[axis] =
                std::min(first + shapes_.number(i, axis), region.end(axis)) - shared.offset[axis];
        }
        return shared;
    }

    constexpr index_rows const& offsets() const { return offsets_; }
    constexpr index_rows const& shapes() const { return shapes_; }

    constexpr bool operator==(box_list const&) const = default;

private:
    index_rows offsets_;
    index_rows shapes_;
};

} // namespace reshard::detail

#endif
