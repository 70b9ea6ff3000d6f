// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_UNIT_KERNELS_HPP
#define RESHARD_DEVICE_UNIT_KERNELS_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/device/unit_casts.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

/// \file
/// What one thread of a device does in a batch of copies. Everything here is `constexpr`, so that
/// the processor runs it, too: tests compare it with the processor's own kernels, byte for byte.

namespace reshard::detail {

/// A box of a batch. Unit number `i` of the box is word `i`, or tile `i`, in row-major order.
///
/// \par Units strides in bytes
struct unit_box {
    static constexpr std::uint32_t no_program = 0xffffffff;

    unsigned char const* source = nullptr;
    unsigned char* target = nullptr;
    std::int64_t extent[max_ndim] = {};
    std::int64_t source_stride[max_ndim] = {};
    std::int64_t target_stride[max_ndim] = {};
    std::uint32_t ndim = 0;
    std::uint32_t program = no_program; ///< an index in the batch's programs
    std::uint32_t source_bytes = 0;     ///< of an element, if there is a program
    bool is_small = false;              ///< extents and numbers of units have 32 bits
    bool is_aligned = true;             ///< the addresses of elements are multiples of their size
};

/// The units `first` to `end - 1` of a box. One block of threads copies them.
struct unit_piece {
    std::uint32_t box = 0;
    std::int64_t first = 0;
    std::int64_t end = 0;
};

/// An element of 16 bytes.
struct alignas(16) wide_word {
    std::uint64_t halves[2];
};

/// The threads of a block, and the side of a tile in elements.
inline constexpr std::uint32_t block_threads = 256;
inline constexpr std::uint32_t tile_side = 32;

/// Offsets of a unit, in bytes.
struct unit_place {
    std::int64_t source = 0;
    std::int64_t target = 0;
};

/// The offsets of unit number `unit` of the first `ndim` axes.
template <class Index>
constexpr unit_place place_of_unit(unit_box const& box, std::uint32_t ndim, Index unit) {
    unit_place at;
    for (std::uint32_t axis = ndim; axis-- > 0;) {
        auto const extent = static_cast<Index>(box.extent[axis]);
        Index const next = axis == 0 ? 0 : unit / extent;
        auto const index = static_cast<std::int64_t>(unit - next * extent);
        at.source += index * box.source_stride[axis];
        at.target += index * box.target_stride[axis];
        unit = next;
    }
    return at;
}

/// The same. Divides by 32 bits if that is enough, since devices are slow with 64.
constexpr unit_place place_of(unit_box const& box, std::uint32_t ndim, std::int64_t unit) {
    return box.is_small ? place_of_unit(box, ndim, static_cast<std::uint32_t>(unit))
                        : place_of_unit(box, ndim, static_cast<std::uint64_t>(unit));
}

/// \param is_aligned whether the address is a multiple of the word's size
template <class Word>
constexpr Word load_word(unsigned char const* at, bool is_aligned) {
    Word word;
    if (is_aligned)
        std::memcpy(&word, __builtin_assume_aligned(at, sizeof(Word)), sizeof word);
    else
        std::memcpy(&word, at, sizeof word);
    return word;
}
template <class Word>
constexpr void store_word(unsigned char* at, Word word, bool is_aligned) {
    if (is_aligned)
        std::memcpy(__builtin_assume_aligned(at, sizeof(Word)), &word, sizeof word);
    else
        std::memcpy(at, &word, sizeof word);
}

constexpr std::uint64_t load_element(unsigned char const* at, std::uint32_t bytes,
                                     bool is_aligned) {
    switch (bytes) {
    case 1: return *at;
    case 2: return load_word<std::uint16_t>(at, is_aligned);
    case 4: return load_word<std::uint32_t>(at, is_aligned);
    default: return load_word<std::uint64_t>(at, is_aligned);
    }
}

/// The word that a box has at an address of its source, converted if the box has a program.
template <class Word>
constexpr Word word_of(unit_box const& box, unit_program const* programs, unsigned char const* at) {
    if constexpr (sizeof(Word) <= 8)
        if (box.program != unit_box::no_program)
            return static_cast<Word>(run_program(
                programs[box.program], load_element(at, box.source_bytes, box.is_aligned)));
    return load_word<Word>(at, box.is_aligned);
}

/// Copies one word of a box.
template <class Word>
constexpr void copy_unit(unit_box const& box, unit_program const* programs, std::int64_t unit) {
    unit_place const at = place_of(box, box.ndim, unit);
    store_word<Word>(box.target + at.target, word_of<Word>(box, programs, box.source + at.source),
                     box.is_aligned);
}

/// A tile of the last two axes of a box.
struct unit_tile {
    unit_place first;
    std::uint32_t rows = 0;    ///< along the axis before the last
    std::uint32_t columns = 0; ///< along the last axis
};

/// The number of tiles of a box.
constexpr std::int64_t tiles_along(std::int64_t extent) {
    return (extent + tile_side - 1) / tile_side;
}

/// \pre `box.ndim >= 2`
constexpr unit_tile tile_of(unit_box const& box, std::int64_t unit) {
    std::uint32_t const row = box.ndim - 2, column = box.ndim - 1;
    std::int64_t const across = tiles_along(box.extent[column]);
    std::int64_t const down = tiles_along(box.extent[row]);
    std::int64_t const first_column = unit % across * tile_side;
    std::int64_t const first_row = unit / across % down * tile_side;
    unit_place at = place_of(box, row, unit / across / down);
    at.source += first_row * box.source_stride[row] + first_column * box.source_stride[column];
    at.target += first_row * box.target_stride[row] + first_column * box.target_stride[column];
    auto const within = [](std::int64_t left) {
        return static_cast<std::uint32_t>(left < tile_side ? left : tile_side);
    };
    return {at, within(box.extent[row] - first_row), within(box.extent[column] - first_column)};
}

/// The memory that the threads of a block share: a tile, with a column that is not used, so that
/// columns lie in different banks.
template <class Word>
using tile_memory = Word[tile_side][tile_side + 1];

/// Loads a thread's share of a tile. Threads follow the rows, along which the source is contiguous.
/// All threads of the block load before any of them stores.
template <class Word>
constexpr void load_tile(unit_box const& box, unit_program const* programs, unit_tile const& tile,
                         std::uint32_t thread, tile_memory<Word>& memory) {
    std::uint32_t const row = thread % tile_side;
    for (std::uint32_t column = thread / tile_side; column < tile.columns;
         column += block_threads / tile_side)
        if (row < tile.rows)
            memory[row][column] = word_of<Word>(box, programs,
                                                box.source + tile.first.source +
                                                    row * box.source_stride[box.ndim - 2] +
                                                    column * box.source_stride[box.ndim - 1]);
}

/// Stores a thread's share of a tile. Threads follow the columns, along which the target is
/// contiguous.
template <class Word>
constexpr void store_tile(unit_box const& box, unit_tile const& tile, std::uint32_t thread,
                          tile_memory<Word> const& memory) {
    std::uint32_t const column = thread % tile_side;
    for (std::uint32_t row = thread / tile_side; row < tile.rows; row += block_threads / tile_side)
        if (column < tile.columns)
            store_word<Word>(box.target + tile.first.target +
                                 row * box.target_stride[box.ndim - 2] +
                                 column * box.target_stride[box.ndim - 1],
                             memory[row][column], box.is_aligned);
}

} // namespace reshard::detail

#endif
