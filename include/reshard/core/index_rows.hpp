// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_INDEX_ROWS_HPP
#define RESHARD_CORE_INDEX_ROWS_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/short_list.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// \file
/// Many index vectors of one length, packed: what tables of boxes are stored in.

namespace reshard {

/// Rows of `ndim` numbers in one block of memory.
///
/// A `box` is 144 bytes whatever its dimension, and a plan of a million of them is dominated by
/// page faults; here a row of a matrix's box costs 16 bytes. A single short row takes no memory of
/// its own: most tensors of a program are one piece.
class index_rows {
public:
    constexpr index_rows() = default;
    constexpr explicit index_rows(std::size_t ndim) : ndim_(static_cast<std::uint32_t>(ndim)) {}

    constexpr std::size_t ndim() const { return ndim_; }
    constexpr std::size_t size() const { return size_; }
    constexpr void reserve(std::size_t rows) { values_.reserve(rows * ndim_); }

    /// \pre `row.size() == ndim()`
    constexpr void push_back(index_vector const& row) {
        BOOST_ASSERT(row.size() == ndim_);
        values_.append(row.begin(), row.size());
        ++size_;
    }

    /// Appends the rows of another table.
    ///
    /// \pre `other.ndim() == ndim()`
    constexpr void append(index_rows const& other) {
        BOOST_ASSERT(other.ndim_ == ndim_);
        values_.append(other.values_.data(), other.values_.size());
        size_ += other.size_;
    }

    /// Adds `distance` to a column of the rows from `first` on.
    ///
    /// \pre `column < ndim()`
    constexpr void shift(std::size_t first, std::size_t column, index_t distance) {
        BOOST_ASSERT(column < ndim_);
        for (std::size_t row = first; row < size_; ++row)
            values_[row * ndim_ + column] += distance;
    }

    /// \pre `row < size()`
    constexpr index_vector operator[](std::size_t row) const {
        BOOST_ASSERT(row < size_);
        index_t const* const first = values_.data() + row * ndim_;
        return index_vector(first, first + ndim_);
    }

    /// The numbers themselves, row after row.
    constexpr std::span<index_t const> values() const { return {values_.data(), values_.size()}; }

    /// The memory that the numbers take.
    constexpr std::size_t bytes() const { return values_.bytes(); }

    constexpr bool operator==(index_rows const&) const = default;

private:
    std::uint32_t ndim_ = 0;
    std::uint32_t size_ = 0;
    short_list<index_t, 3> values_;
};

/// Boxes of one tensor, packed.
class box_list {
public:
    constexpr box_list() = default;
    constexpr explicit box_list(std::size_t ndim) : offsets_(ndim), shapes_(ndim) {}

    constexpr std::size_t ndim() const { return offsets_.ndim(); }
    constexpr std::size_t size() const { return offsets_.size(); }
    constexpr bool empty() const { return size() == 0; }
    /// The memory that the boxes take.
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

    /// Appends the boxes of another list, moved by `distance` along an axis.
    constexpr void append_moved(box_list const& other, std::size_t axis, index_t distance) {
        std::size_t const first = size();
        offsets_.append(other.offsets_);
        offsets_.shift(first, axis, distance);
        shapes_.append(other.shapes_);
    }

    /// \pre `i < size()`
    constexpr box operator[](std::size_t i) const { return {offsets_[i], shapes_[i]}; }

    constexpr index_rows const& offsets() const { return offsets_; }
    constexpr index_rows const& shapes() const { return shapes_; }

    constexpr bool operator==(box_list const&) const = default;

private:
    index_rows offsets_;
    index_rows shapes_;
};

} // namespace reshard

#endif
