// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PIECE_LIST_HPP
#define RESHARD_EXPR_PIECE_LIST_HPP

#include <reshard/core/index_rows.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/piece.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// \file
/// The pieces of one tensor as rows of numbers, each row only as long as it needs to be.

namespace reshard::detail {

/// The contents of a row. A row of a later kind can hold a piece of an earlier kind, too.
enum class row_kind : std::uint8_t {
    whole,    ///< both offsets are zero and not stored
    plain,    ///< each factor is an axis
    factored, ///< axes have several factors, and there are any number of steps
};

/// The facts of a row: all except extents and offsets.
struct row_facts {
    static constexpr std::size_t most_step_bytes = 6;

    key_id source = zero_source;
    permutation order;
    data_type stored{};
    std::uint8_t step_count = 0;
    std::uint8_t steps[most_step_bytes] = {};
};

/// The facts at the beginning of a row.
constexpr row_facts facts_in(index_t const* row) {
    return std::bit_cast<row_facts>(std::array<index_t, 2>{row[0], row[1]});
}

/// The first kind that can hold `p`.
constexpr row_kind kind_of(piece const& p) {
    auto const is_zero = [](index_vector const& offset) {
        return std::all_of(offset.begin(), offset.end(), [](index_t i) { return i == 0; });
    };
    if (p.joins.any() || p.steps.count > row_facts::most_step_bytes)
        return row_kind::factored;
    return is_zero(p.target_offset) && is_zero(p.source_offset) ? row_kind::whole : row_kind::plain;
}

/// The layout of a list's rows: facts, shape and offset of the target box, source offset. A
/// factored row continues with the numbers of axes and the joins, extents and source offset by
/// factor, and the steps. These are zeros for a piece of an earlier kind, so appended zeros turn a
/// row into a row of a later kind.
struct row_form {
    row_kind kind = row_kind::whole;
    std::uint8_t ndim = 0; ///< of the target

    static constexpr std::size_t facts = 2;
    static constexpr std::size_t factors = 1 + 2 * max_ndim + 2;
    static constexpr std::size_t longest = facts + 3 * max_ndim + factors;

    constexpr std::size_t target_shape() const { return facts; }
    constexpr std::size_t target_offset() const { return facts + ndim; }
    constexpr std::size_t source_offset() const { return facts + std::size_t{2} * ndim; }
    constexpr std::size_t behind() const { return facts + std::size_t{3} * ndim; }
    constexpr std::size_t length() const {
        if (kind == row_kind::whole)
            return target_offset();
        return behind() + (kind == row_kind::factored ? factors : 0);
    }

    constexpr box target_box(index_t const* row) const {
        return {kind == row_kind::whole ? index_vector::filled(ndim, 0)
                                        : vector_at(row + target_offset(), ndim),
                vector_at(row + target_shape(), ndim)};
    }

    /// Writes a piece.
    ///
    /// \pre `row` is all zeros, and `kind` can hold `p`
    constexpr void write(piece const& p, index_t* row) const {
        row_facts first{p.source, p.order, p.stored, p.steps.count, {}};
        std::copy_n(p.steps.values, row_facts::most_step_bytes, first.steps);
        put(std::bit_cast<std::array<index_t, 2>>(first), row);
        put(joined_extents(p.extent, p.joins.target), row + target_shape());
        if (kind == row_kind::whole)
            return;
        put(p.target_offset, row + target_offset());
        if (!p.joins.any())
            put(p.source_offset, row + source_offset());
        if (kind == row_kind::factored)
            write_factors(p, row + behind());
    }

    constexpr piece read(index_t const* row) const {
        row_facts const first = facts_in(row);
        piece p{first.source, first.stored, first.order, {}, {}, {}, {}};
        std::copy_n(first.steps, row_facts::most_step_bytes, p.steps.values);
        p.steps.count = first.step_count;
        box const target = target_box(row);
        p.target_offset = target.offset;
        p.extent = target.shape;
        p.source_offset =
            kind == row_kind::whole ? target.offset : vector_at(row + source_offset(), ndim);
        if (kind == row_kind::factored)
            read_factors(row + behind(), p);
        return p;
    }

private:
    static constexpr void put(auto const& numbers, index_t* row) {
        std::copy(numbers.begin(), numbers.end(), row);
    }

    static constexpr index_vector vector_at(index_t const* first, std::size_t size) {
        return index_vector(first, first + size);
    }

    using step_words = std::array<index_t, 2>;

    static constexpr void write_factors(piece const& p, index_t* row) {
        put(std::bit_cast<step_words>(p.steps), row + 1 + 2 * max_ndim);
        if (!p.joins.any())
            return;
        row[0] = p.joins.source | p.joins.target << 8 |
                 static_cast<index_t>(p.extent.size() << 16 | p.source_offset.size() << 24);
        put(p.extent, row + 1);
        put(p.source_offset, row + 1 + max_ndim);
    }

    static constexpr void read_factors(index_t const* row, piece& p) {
        index_t const* const words = row + 1 + 2 * max_ndim;
        if (p.steps.count > row_facts::most_step_bytes)
            p.steps = std::bit_cast<step_chain>(step_words{words[0], words[1]});
        auto const byte = [&](int i) { return static_cast<std::uint8_t>(row[0] >> (8 * i)); };
        if (row[0] == 0)
            return;
        p.joins = {byte(0), byte(1)};
        p.extent = vector_at(row + 1, byte(2));
        p.source_offset = vector_at(row + 1 + max_ndim, byte(3));
    }
};

/// The pieces of one tensor, packed: a piece of a matrix takes 64 bytes instead of 248 as `piece`.
///
/// Most tensors of a program are one whole source tensor. Such a list takes no memory beyond its 48
/// bytes if the tensor is a vector or a matrix.
class piece_list {
public:
    constexpr piece_list() = default;
    constexpr explicit piece_list(std::size_t ndim) : row_{row_kind::whole, narrow(ndim)} {}

    /// The list of one piece: the whole tensor, unchanged.
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

    /// Reserves memory for pieces that no reshape has changed.
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

    /// Appends the pieces of another tensor, with their target boxes moved by `distance` along
    /// `axis`.
    ///
    /// \pre `pieces.ndim() == ndim()`, and there is such an axis
    constexpr void append_moved(piece_list const& pieces, std::size_t axis, index_t distance) {
        BOOST_ASSERT(pieces.ndim() == ndim());
        if (pieces.size_ == 0)
            return;
        bool const is_first = size_ == 0 && distance == 0;
        widen(std::max(pieces.row_.kind, is_first ? row_kind::whole : row_kind::plain));
        std::size_t const first = size_;
        append(pieces);
        for (std::size_t i = first; i < size_ && distance != 0; ++i)
            numbers_[i * row_.length() + row_.target_offset() + axis] += distance;
    }

    /// \pre `i < size()`
    constexpr piece operator[](std::size_t i) const { return row_.read(row(i)); }

    /// \name Members of piece number `i < size()`
    /// \{
    constexpr key_id source(std::size_t i) const { return facts_in(row(i)).source; }
    constexpr bool dequantizes(std::size_t i) const {
        return facts_in(row(i)).step_count > 0 && is_dequantize(facts_in(row(i)).steps[0]);
    }
    constexpr box target_box(std::size_t i) const { return row_.target_box(row(i)); }
    /// The offset and the end of the target box along an axis.
    constexpr index_t target_offset(std::size_t i, std::size_t axis) const {
        return row_.kind == row_kind::whole ? 0 : row(i)[row_.target_offset() + axis];
    }
    constexpr index_t target_end(std::size_t i, std::size_t axis) const {
        return target_offset(i, axis) + row(i)[row_.target_shape() + axis];
    }
    /// \}

    /// True for a single piece without offsets and reshapes: usually the whole tensor.
    constexpr bool is_whole() const { return size_ == 1 && row_.kind == row_kind::whole; }

    /// \pre `is_whole()`, here and below
    constexpr std::span<index_t const> whole_extent() const {
        return {row(0) + row_.target_shape(), ndim()};
    }
    constexpr permutation whole_order() const { return facts_in(row(0)).order; }

    /// Whether both lists have the same pieces, except for the numbers of their sources.
    constexpr bool same_but_sources(piece_list pieces) const {
        for (std::size_t i = 0; i < std::min(size(), pieces.size()); ++i) {
            index_t& word = pieces.numbers_[i * pieces.row_.length()];
            row_facts facts = facts_in(pieces.row(i));
            facts.source = source(i);
            word = std::bit_cast<std::array<index_t, row_form::facts>>(facts)[0];
        }
        return pieces == *this;
    }

    /// The target boxes, for searches.
    constexpr box_list target_boxes() const {
        box_list boxes(ndim());
        boxes.reserve(size_);
        for (std::size_t i = 0; i < size_; ++i)
            boxes.push_back(target_box(i));
        return boxes;
    }

    /// The memory of the pieces.
    constexpr std::size_t bytes() const { return numbers_.bytes(); }

    constexpr bool operator==(piece_list const& pieces) const {
        if (size_ != pieces.size_ || ndim() != pieces.ndim())
            return false;
        if (row_.kind == pieces.row_.kind)
            return numbers_ == pieces.numbers_;
        for (std::size_t i = 0; i < size_; ++i)
            if ((*this)[i] != pieces[i])
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

    /// \pre the rows can hold pieces of the other list's kind
    constexpr void append(piece_list const& pieces) {
        size_ += pieces.size_;
        if (row_.kind == pieces.row_.kind)
            return numbers_.append(pieces.numbers_.data(), pieces.numbers_.size());
        for (std::size_t i = 0; i < pieces.size_; ++i) {
            index_t row[row_form::longest] = {};
            std::copy_n(pieces.row(i), pieces.row_.length(), row);
            numbers_.append(row, row_.length());
        }
    }

    /// Makes the rows able to hold pieces of that kind.
    constexpr void widen(row_kind kind) {
        if (kind <= row_.kind)
            return;
        piece_list wider(ndim());
        wider.row_.kind = kind;
        wider.append(*this);
        *this = std::move(wider);
    }

    short_vector<index_t, 4> numbers_; ///< row after row
    std::uint32_t size_ = 0;
    row_form row_;
};

} // namespace reshard::detail

#endif
