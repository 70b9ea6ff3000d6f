// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_ROW_BATCH_HPP
#define RESHARD_COPY_ROW_BATCH_HPP

#include <reshard/copy/copy_elements.hpp>
#include <reshard/copy/stream_lines.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

/// \file
/// Copies small adjacent blocks of a large array, one row of the array after the other.
///
/// A block of a block-cyclic array has a few hundred bytes in each of its rows, and the rows lie
/// far apart. Memory is fastest if a copy touches all blocks of a row before the next row.

namespace reshard::detail {

/// One side of a copy: its source strides or its target strides.
using copy_end = index_vector affine_copy::*;

/// Prepared copies without duplicates.
///
/// A block-cyclic array has a hundred thousand transfers of a few hundred shapes. Fusing axes and
/// choosing a kernel takes as long as a small copy.
class copy_table {
public:
    /// Returns the number of a copy. Prepares the copy if it is new.
    ///
    /// \throws error with errc::dtype_mismatch if complex numbers would become real; the table is
    ///         of no use after that
    std::uint32_t add(affine_copy const& copy, element_conversion const& conversion,
                      stores stores) {
        description const wanted{copy, conversion, stores};
        std::uint32_t const number = numbers_.number(
            digest_of_all(copy.extent, copy.source_strides, copy.target_strides, copy.source_offset,
                          copy.target_offset),
            [&](std::uint32_t candidate) { return descriptions_[candidate] == wanted; });
        if (number == copies_.size()) {
            descriptions_.push_back(wanted);
            copies_.push_back(prepare(copy, conversion, stores));
        }
        return number;
    }

    /// \pre `add` returned that number
    prepared_copy const& operator[](std::uint32_t number) const { return copies_[number]; }

    std::size_t size() const { return copies_.size(); }

private:
    struct description {
        affine_copy copy;
        element_conversion conversion;
        stores store_kind;

        bool operator==(description const&) const = default;
    };

    class_table numbers_;
    vector<description> descriptions_; ///< by number
    vector<prepared_copy> copies_;     ///< by number
};

/// True if the copy is a single loop over runs of bytes.
inline bool is_block(prepared_copy const& copy) {
    return copy.kernel == copy_kernel::rows && copy.loop.ndim() == 2;
}

/// True if two copies are blocks with the same number of rows and the same distance between rows at
/// `end`.
inline bool are_identical(prepared_copy const& a, prepared_copy const& b, copy_end end) {
    return is_block(a) && is_block(b) && a.streaming == b.streaming &&
           a.loop.extent[0] == b.loop.extent[0] && (a.loop.*end)[0] == (b.loop.*end)[0];
}

/// True if `next` is less than a row after `first`. `next` must not be before `first`.
inline bool is_in_row(void const* first, void const* next, index_t pitch) {
    auto const distance =
        reinterpret_cast<std::uintptr_t>(next) - reinterpret_cast<std::uintptr_t>(first);
    return pitch > 0 && distance < static_cast<std::uintptr_t>(pitch);
}

/// Sorts copies by their addresses at `end`, and marks each copy whose successor is in the same
/// rows.
///
/// \par Shape an item has the members `copy` (its number in `copies`) and `joins_next`;
///            `address(item)` is its address in the array
template <class Item, class Address>
void join_blocks(std::span<Item> items, copy_table const& copies, copy_end end, Address address) {
    sort_by(items,
            [&](Item const& a, Item const& b) { return std::less<>()(address(a), address(b)); });
    std::size_t first = 0;
    for (std::size_t i = 0; i + 1 < items.size(); ++i) {
        prepared_copy const& copy = copies[items[first].copy];
        items[i].joins_next =
            are_identical(copy, copies[items[i + 1].copy], end) &&
            is_in_row(address(items[first]), address(items[i + 1]), (copy.loop.*end)[0]);
        if (!items[i].joins_next)
            first = i + 1;
    }
}

/// Runs copies in order, but adjacent blocks row by row.
class row_batch {
public:
    /// Runs the copy, now or together with the next one.
    ///
    /// \pre if `joins_next`, this copy and the next one are blocks with the same number of rows,
    ///      and a later copy has `joins_next` false
    void add(prepared_copy const& copy, void const* source, void* target, bool joins_next) {
        if (count_ == 0 && !joins_next)
            return run(copy, source, target);
        BOOST_ASSERT(is_block(copy));
        auto const* const from = static_cast<unsigned char const*>(source);
        auto* const to = static_cast<unsigned char*>(target);
        affine_copy const& loop = copy.loop;
        append({from + loop.source_offset, to + loop.target_offset, loop.source_strides[0],
                loop.target_strides[0],
                static_cast<std::size_t>(loop.extent[1] * copy.sizes.source)});
        if (!joins_next || count_ == most)
            run_blocks(loop.extent[0], copy.streaming);
    }

private:
    static constexpr std::size_t most = 64;

    /// Adds a block. Widens the last block instead if the block continues it on both sides.
    void append(row_block const& row_block) {
        if (count_ > 0 && continues(blocks_[count_ - 1], row_block))
            blocks_[count_ - 1].bytes += row_block.bytes;
        else
            blocks_[count_++] = row_block;
    }

    void run_blocks(index_t rows, bool streaming) {
        std::span<row_block const> const blocks(blocks_, count_);
        if (streaming) {
            stream_blocks(widest_vectors(), blocks, rows);
            streaming_fence();
        } else {
            copy_blocks(blocks, rows, false);
        }
        count_ = 0;
    }

    row_block blocks_[most];
    std::size_t count_ = 0;
};

} // namespace reshard::detail

#endif
