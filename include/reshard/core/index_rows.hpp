// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_INDEX_ROWS_HPP
#define RESHARD_CORE_INDEX_ROWS_HPP

#include <reshard/core/box.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

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
    constexpr explicit index_rows(std::size_t ndim) : ndim_(ndim) {}

    constexpr std::size_t ndim() const { return ndim_; }
    constexpr std::size_t size() const { return size_; }
    constexpr void reserve(std::size_t rows) {
        if (rows > 1 || ndim_ > short_row)
            values_.reserve(rows * ndim_);
    }

    /// \pre `row.size() == ndim()`
    constexpr void push_back(index_vector const& row) {
        BOOST_ASSERT(row.size() == ndim_);
        if (size_ == 0 && ndim_ <= short_row) {
            std::copy(row.begin(), row.end(), first_);
        } else {
            if (is_short())
                give_up_first();
            values_.insert(values_.end(), row.begin(), row.end());
        }
        ++size_;
    }

    /// \pre `row < size()`
    constexpr index_vector operator[](std::size_t row) const {
        BOOST_ASSERT(row < size_);
        index_t const* const first = values().data() + row * ndim_;
        return index_vector(first, first + ndim_);
    }

    /// The numbers themselves, row after row.
    constexpr std::span<index_t const> values() const {
        return is_short() ? std::span<index_t const>(first_, ndim_) : values_;
    }

    /// The memory that the numbers take.
    constexpr std::size_t bytes() const { return values_.capacity() * sizeof(index_t); }

    constexpr bool operator==(index_rows const&) const = default;

private:
    static constexpr std::size_t short_row = 3;

    /// Whether there is one row, which stands in `first_`.
    constexpr bool is_short() const { return size_ == 1 && ndim_ <= short_row; }

    constexpr void give_up_first() {
        values_.insert(values_.end(), first_, first_ + ndim_);
        std::fill_n(first_, short_row, index_t{0});
    }

    std::size_t ndim_ = 0;
    std::size_t size_ = 0;
    index_t first_[short_row] = {}; ///< zeros unless `is_short`, so that equal rows are equal
    std::vector<index_t> values_;
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
