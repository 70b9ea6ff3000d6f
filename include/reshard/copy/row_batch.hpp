// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_ROW_BATCH_HPP
#define RESHARD_COPY_ROW_BATCH_HPP

#include <reshard/copy/copy_elements.hpp>
#include <reshard/copy/stream_lines.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>

#include <boost/assert.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

/// \file
/// Small blocks that lie side by side in a large array, copied row by row of the array.
///
/// A block of a block-cyclic array has a few hundred bytes in each of its rows, and the rows lie
/// far apart; the memory is fastest when all blocks of a row are touched before the next row is.

namespace reshard::detail {

/// One end of a copy: its loop's strides of the source, or of the target.
using copy_end = index_vector affine_copy::*;

/// Prepared copies, each different one once.
///
/// A block-cyclic array has a hundred thousand transfers of a few hundred shapes; fusing axes and
/// choosing a kernel takes as long as moving a small one.
class copy_table {
public:
    /// The number of the copy, which is prepared if it is new.
    ///
    /// \throws error with errc::dtype_mismatch when complex numbers are to become real ones
    std::uint32_t add(affine_copy const& copy, element_conversion const& conversion,
                      stores stores) {
        auto const number = static_cast<std::uint32_t>(copies_.size());
        auto const [position, is_new] = numbers_.try_emplace({copy, conversion, stores}, number);
        if (is_new)
            copies_.push_back(prepare(copy, conversion, stores));
        return position->second;
    }

    /// \pre `add` gave that number
    prepared_copy const& operator[](std::uint32_t number) const { return copies_[number]; }

    std::size_t size() const { return copies_.size(); }

private:
    struct description {
        affine_copy copy;
        element_conversion conversion;
        stores store_kind;

        bool operator==(description const&) const = default;
    };

    struct hash {
        std::size_t operator()(description const& current_description) const {
            affine_copy const& copy = current_description.copy;
            return digest_of_all(copy.extent, copy.source_strides, copy.target_strides,
                                 copy.source_offset, copy.target_offset);
        }
    };

    boost::unordered_flat_map<description, std::uint32_t, hash> numbers_;
    vector<prepared_copy> copies_;
};

/// True if the copy is a loop over runs of bytes, one loop and no more.
inline bool is_block(prepared_copy const& copy) {
    return copy.kernel == copy_kernel::rows && copy.loop.ndim() == 2;
}

/// True if two copies are blocks of equally many rows, equally far apart in the array at `end`.
inline bool are_identical(prepared_copy const& a, prepared_copy const& b, copy_end end) {
    return is_block(a) && is_block(b) && a.streaming == b.streaming &&
           a.loop.extent[0] == b.loop.extent[0] && (a.loop.*end)[0] == (b.loop.*end)[0];
}

/// True if `next`, which is not before `first`, is less than a row's distance after it.
inline bool is_in_row(void const* first, void const* next, index_t pitch) {
    auto const distance =
        reinterpret_cast<std::uintptr_t>(next) - reinterpret_cast<std::uintptr_t>(first);
    return pitch > 0 && distance < static_cast<std::uintptr_t>(pitch);
}

/// Puts copies into the order of their addresses at `end`, and marks those that continue in the
/// same rows.
///
/// \par Shape an item has the members `copy` (its number in `copies`) and `joins_next`;
///            `address(item)` is its address in its array
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

/// Runs copies one after the other, and adjoining blocks row by row.
class row_batch {
public:
    /// Runs the copy, now or together with the next one.
    ///
    /// \pre if `joins_next`, this copy and the next one are blocks of equally many rows, and a
    ///      copy that joins none follows
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

    /// Adds a block, or makes the last one wider if that ends at its beginning on both sides.
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
