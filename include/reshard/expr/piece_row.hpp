// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PIECE_ROW_HPP
#define RESHARD_EXPR_PIECE_ROW_HPP

#include <reshard/expr/piece.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

/// \file
/// A piece as a row of numbers: how lists of pieces are packed.

namespace reshard::detail {

/// What a row has room for. A kind holds the pieces of the kinds before it, too.
enum class row_kind : std::uint8_t {
    whole,    ///< both offsets are zero and not written
    plain,    ///< each factor is an axis
    factored, ///< axes of several factors, and any number of casts
};

/// The part of a row that is no extent and no offset.
struct row_facts {
    static constexpr std::size_t most_casts = 6;

    key_id source = zero_source;
    permutation order;
    data_type stored{};
    std::uint8_t cast_count = 0;
    data_type casts[most_casts] = {};
};

/// The facts at the front of a row.
constexpr row_facts facts_in(index_t const* row) {
    return std::bit_cast<row_facts>(std::array<index_t, 2>{row[0], row[1]});
}

/// The first kind that holds `p`.
constexpr row_kind kind_of(piece const& p) {
    auto const is_zero = [](index_vector const& offset) {
        return std::all_of(offset.begin(), offset.end(), [](index_t i) { return i == 0; });
    };
    if (p.joins.any() || p.casts.count > row_facts::most_casts)
        return row_kind::factored;
    return is_zero(p.target_offset) && is_zero(p.source_offset) ? row_kind::whole : row_kind::plain;
}

/// How the rows of a list are laid out: facts, shape and offset of the target box, source offset.
/// Behind them a factored row has the numbers of axes and the joins, extents and source offset by
/// factor, and the casts; of a piece that needs none of it, zeros. So a row becomes one of a later
/// kind when zeros are put behind it.
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
    /// \pre `row` is zeros, and `kind` holds `p`
    constexpr void write(piece const& p, index_t* row) const {
        row_facts first{p.source, p.order, p.stored, p.casts.count, {}};
        std::copy_n(p.casts.values, row_facts::most_casts, first.casts);
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
        std::copy_n(first.casts, row_facts::most_casts, p.casts.values);
        p.casts.count = first.cast_count;
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

    using cast_words = std::array<index_t, 2>;

    static constexpr void write_factors(piece const& p, index_t* row) {
        put(std::bit_cast<cast_words>(p.casts), row + 1 + 2 * max_ndim);
        if (!p.joins.any())
            return;
        row[0] = p.joins.source | p.joins.target << 8 |
                 static_cast<index_t>(p.extent.size() << 16 | p.source_offset.size() << 24);
        put(p.extent, row + 1);
        put(p.source_offset, row + 1 + max_ndim);
    }

    static constexpr void read_factors(index_t const* row, piece& p) {
        index_t const* const casts = row + 1 + 2 * max_ndim;
        if (p.casts.count > row_facts::most_casts)
            p.casts = std::bit_cast<cast_chain>(cast_words{casts[0], casts[1]});
        auto const byte = [&](int i) { return static_cast<std::uint8_t>(row[0] >> (8 * i)); };
        if (row[0] == 0)
            return;
        p.joins = {byte(0), byte(1)};
        p.extent = vector_at(row + 1, byte(2));
        p.source_offset = vector_at(row + 1 + max_ndim, byte(3));
    }
};

} // namespace reshard::detail

#endif
