// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PIECE_LIST_HPP
#define RESHARD_EXPR_PIECE_LIST_HPP

#include <reshard/core/index_rows.hpp>
#include <reshard/core/short_list.hpp>
#include <reshard/expr/piece_row.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

/// \file
/// The pieces of one tensor, in as much memory as they need.

namespace reshard::detail {

/// The pieces of one tensor, packed: a piece of a matrix takes 64 bytes where `piece` takes 248.
///
/// Most tensors of a program are one source tensor, whole. Such a list takes no memory beside its
/// 48 bytes as long as the tensor is a vector or a matrix.
class piece_list {
public:
    constexpr piece_list() = default;
    constexpr explicit piece_list(std::size_t ndim) : row_{row_kind::whole, narrow(ndim)} {}

    /// The list of one piece: all of a tensor of that shape, unchanged.
    static constexpr piece_list whole_of(key_id source, index_vector const& shape,
                                         data_type stored) {
        piece_list list(shape.size());
        auto const facts = std::bit_cast<std::array<index_t, row_form::facts>>(
            row_facts{source, permutation::identity(shape.size()), stored, 0, {}});
        list.numbers_.reserve(list.row_.length());
        list.numbers_.append(facts.data(), facts.size());
        list.numbers_.append(shape.begin(), shape.size());
        list.size_ = 1;
        return list;
    }

    constexpr std::size_t size() const { return size_; }
    constexpr std::size_t ndim() const { return row_.ndim; }

    /// Makes room for pieces that a reshape has not touched.
    constexpr void reserve(std::size_t pieces) {
        if (pieces > 1)
            widen(row_kind::plain);
        numbers_.reserve(pieces * row_.length());
    }

    /// Appends a piece.
    ///
    /// \pre `p.target_offset.size() == ndim()`
    constexpr void push_back(piece const& p) {
        BOOST_ASSERT(p.target_offset.size() == ndim());
        widen(std::max(kind_of(p), size_ > 0 ? row_kind::plain : row_kind::whole));
        index_t row[row_form::longest] = {};
        row_.write(p, row);
        numbers_.append(row, row_.length());
        ++size_;
    }

    /// Appends the pieces of another tensor, whose target boxes are moved by `distance` along
    /// `axis`.
    ///
    /// \pre `other.ndim() == ndim()`, and there is such an axis
    constexpr void append_moved(piece_list const& other, std::size_t axis, index_t distance) {
        BOOST_ASSERT(other.ndim() == ndim());
        if (other.size_ == 0)
            return;
        bool const is_first = size_ == 0 && distance == 0;
        widen(std::max(other.row_.kind, is_first ? row_kind::whole : row_kind::plain));
        std::size_t const first = size_;
        append(other);
        for (std::size_t i = first; i < size_ && distance != 0; ++i)
            numbers_[i * row_.length() + row_.target_offset() + axis] += distance;
    }

    /// \pre `i < size()`
    constexpr piece operator[](std::size_t i) const { return row_.read(row(i)); }

    /// \name Of piece number `i < size()`
    /// \{
    constexpr key_id source(std::size_t i) const { return facts_in(row(i)).source; }
    constexpr box target_box(std::size_t i) const { return row_.target_box(row(i)); }
    /// Where its target box begins, and ends, along an axis.
    constexpr index_t target_offset(std::size_t i, std::size_t axis) const {
        return row_.kind == row_kind::whole ? 0 : row(i)[row_.target_offset() + axis];
    }
    constexpr index_t target_end(std::size_t i, std::size_t axis) const {
        return target_offset(i, axis) + row(i)[row_.target_shape() + axis];
    }
    /// \}

    /// The target boxes alone, to be searched.
    constexpr box_list target_boxes() const {
        box_list boxes(ndim());
        boxes.reserve(size_);
        for (std::size_t i = 0; i < size_; ++i)
            boxes.push_back(target_box(i));
        return boxes;
    }

    /// The memory that the pieces take.
    constexpr std::size_t bytes() const { return numbers_.bytes(); }

    constexpr bool operator==(piece_list const& other) const {
        if (size_ != other.size_ || ndim() != other.ndim())
            return false;
        if (row_.kind == other.row_.kind)
            return numbers_ == other.numbers_;
        for (std::size_t i = 0; i < size_; ++i)
            if ((*this)[i] != other[i])
                return false;
        return true;
    }

private:
    static constexpr std::uint8_t narrow(std::size_t ndim) {
        BOOST_ASSERT(ndim <= max_ndim);
        return static_cast<std::uint8_t>(ndim);
    }

    constexpr index_t const* row(std::size_t i) const {
        BOOST_ASSERT(i < size_);
        return numbers_.data() + i * row_.length();
    }

    /// \pre the rows hold pieces of the other's kind
    constexpr void append(piece_list const& other) {
        size_ += other.size_;
        if (row_.kind == other.row_.kind)
            return numbers_.append(other.numbers_.data(), other.numbers_.size());
        for (std::size_t i = 0; i < other.size_; ++i) {
            index_t row[row_form::longest] = {};
            std::copy_n(other.row(i), other.row_.length(), row);
            numbers_.append(row, row_.length());
        }
    }

    /// Makes the rows ones that hold pieces of that kind as well.
    constexpr void widen(row_kind kind) {
        if (kind <= row_.kind)
            return;
        piece_list wider(ndim());
        wider.row_.kind = kind;
        wider.append(*this);
        *this = std::move(wider);
    }

    short_list<index_t, 4> numbers_; ///< row after row
    std::uint32_t size_ = 0;
    row_form row_;
};

} // namespace reshard::detail

#endif
