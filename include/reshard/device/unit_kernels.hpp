// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_UNIT_KERNELS_HPP
#define RESHARD_DEVICE_UNIT_KERNELS_HPP

#include <reshard/copy/byte_float.hpp>
#include <reshard/copy/convert.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/step_chain.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// \file
/// What one thread of a device does in a batch of copies. Everything here is `constexpr`, so that
/// the processor runs it, too: tests compare it with the processor's own kernels, byte for byte.

namespace reshard::detail {

/// A cast, or arithmetic in f32 or f64.
struct unit_step {
    data_type from{};
    data_type to{};
    chain_step::operation computes = chain_step::operation::none;
    double operand = 0;
};

/// A conversion of elements: its steps in order.
struct unit_program {
    static constexpr std::size_t most_steps = 3 * 15;

    std::uint32_t count = 0;
    unit_step steps[most_steps] = {};
};

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

/// A format as a type, since nvcc 13 loses formats that are template arguments of functions here.
struct f16_format {
    static constexpr float_format value = format_f16;
};
struct bf16_format {
    static constexpr float_format value = format_bf16;
};
struct f8_e4m3_format {
    static constexpr float_format value = format_f8_e4m3;
};
struct f8_e5m2_format {
    static constexpr float_format value = format_f8_e5m2;
};
struct f8_e4m3fnuz_format {
    static constexpr float_format value = format_f8_e4m3fnuz;
};
struct f8_e5m2fnuz_format {
    static constexpr float_format value = format_f8_e5m2fnuz;
};

template <class Format>
constexpr std::uint64_t widen_from(std::uint32_t bits) {
    return widen<Format::value>(bits);
}
template <class Format>
constexpr std::uint64_t narrow_to(std::uint32_t bits) {
    return narrow<Format::value>(bits);
}

/// Converts a float to f32, exactly or rounded once. Returns false for types that need `convert`.
constexpr bool widen_to_f32(data_type from, std::uint64_t& bits) {
    auto const low = static_cast<std::uint32_t>(bits);
    switch (from) {
    case data_type::bf16: bits = std::uint64_t{low} << 16; return true;
    case data_type::f16: bits = widen_from<f16_format>(low); return true;
    case data_type::f8_e4m3: bits = widen_from<f8_e4m3_format>(low); return true;
    case data_type::f8_e5m2: bits = widen_from<f8_e5m2_format>(low); return true;
    case data_type::f8_e4m3fnuz: bits = widen_from<f8_e4m3fnuz_format>(low); return true;
    case data_type::f8_e5m2fnuz: bits = widen_from<f8_e5m2fnuz_format>(low); return true;
    case data_type::f32: return true;
    default: return false;
    }
}

/// Converts an f32, rounded once. Returns false for types that need `convert`.
constexpr bool narrow_from_f32(data_type to, std::uint64_t& bits) {
    auto const value = static_cast<std::uint32_t>(bits);
    switch (to) {
    case data_type::bf16: bits = narrow_to<bf16_format>(value); return true;
    case data_type::f16: bits = narrow_to<f16_format>(value); return true;
    case data_type::f8_e4m3: bits = narrow_to<f8_e4m3_format>(value); return true;
    case data_type::f8_e5m2: bits = narrow_to<f8_e5m2_format>(value); return true;
    case data_type::f8_e4m3fnuz: bits = narrow_to<f8_e4m3fnuz_format>(value); return true;
    case data_type::f8_e5m2fnuz: bits = narrow_to<f8_e5m2fnuz_format>(value); return true;
    case data_type::f64: bits = f64_of_f32(value); return true;
    case data_type::f32: return true;
    default: return false;
    }
}

/// As `convert`, faster for floats of at most 32 bits.
constexpr std::uint64_t cast_bits(data_type from, data_type to, std::uint64_t bits) {
    if (from == data_type::f64 && to == data_type::f32)
        return f32_of_f64(bits);
    std::uint64_t result = bits;
    if (widen_to_f32(from, result) && narrow_from_f32(to, result))
        return result;
    return encode(to, decode(from, bits));
}

constexpr std::uint64_t run_step(unit_step const& step, std::uint64_t bits) {
    if (step.computes == chain_step::operation::none)
        return cast_bits(step.from, step.to, bits);
    bool const adds = step.computes == chain_step::operation::add;
    if (step.from == data_type::f64) {
        double const value = std::bit_cast<double>(bits);
        return std::bit_cast<std::uint64_t>(adds ? value + step.operand : value * step.operand);
    }
    float const value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    auto const operand = static_cast<float>(step.operand);
    return std::bit_cast<std::uint32_t>(adds ? value + operand : value * operand);
}

constexpr std::uint64_t run_program(unit_program const& program, std::uint64_t bits) {
    for (std::uint32_t i = 0; i < program.count; ++i)
        bits = run_step(program.steps[i], bits);
    return bits;
}

/// The steps of a chain, one cast or one computation each.
///
/// \pre the chain does not dequantize
constexpr unit_program program_of(data_type source, step_chain const& chain) {
    unit_program program;
    auto const push = [&](unit_step const& step) {
        if (step.computes != chain_step::operation::none || step.from != step.to)
            program.steps[program.count++] = step;
    };
    data_type from = source;
    for (chain_step const& step : chain.steps()) {
        data_type const computed =
            step.computes == chain_step::operation::none ? from : computing_type(from, step.dtype);
        push({from, computed});
        if (step.computes != chain_step::operation::none)
            push({computed, computed, step.computes, step.operand});
        push({computed, step.dtype});
        from = step.dtype;
    }
    return program;
}

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

/// The same. Divides by 32 bits where that is enough, since devices are slow with 64.
constexpr unit_place place_of(unit_box const& box, std::uint32_t ndim, std::int64_t unit) {
    return unit >> 32 == 0 ? place_of_unit(box, ndim, static_cast<std::uint32_t>(unit))
                           : place_of_unit(box, ndim, static_cast<std::uint64_t>(unit));
}

/// \pre the address is a multiple of the word's size
template <class Word>
constexpr Word load_word(unsigned char const* at) {
    Word word;
    std::memcpy(&word, __builtin_assume_aligned(at, sizeof(Word)), sizeof word);
    return word;
}
template <class Word>
constexpr void store_word(unsigned char* at, Word word) {
    std::memcpy(__builtin_assume_aligned(at, sizeof(Word)), &word, sizeof word);
}

constexpr std::uint64_t load_element(unsigned char const* at, std::uint32_t bytes) {
    switch (bytes) {
    case 1: return load_word<std::uint8_t>(at);
    case 2: return load_word<std::uint16_t>(at);
    case 4: return load_word<std::uint32_t>(at);
    default: return load_word<std::uint64_t>(at);
    }
}

/// The word that a box has at an address of its source, converted if the box has a program.
template <class Word>
constexpr Word word_of(unit_box const& box, unit_program const* programs, unsigned char const* at) {
    if constexpr (sizeof(Word) <= 8)
        if (box.program != unit_box::no_program)
            return static_cast<Word>(
                run_program(programs[box.program], load_element(at, box.source_bytes)));
    return load_word<Word>(at);
}

/// Copies one word of a box.
template <class Word>
constexpr void copy_unit(unit_box const& box, unit_program const* programs, std::int64_t unit) {
    unit_place const at = place_of(box, box.ndim, unit);
    store_word<Word>(box.target + at.target, word_of<Word>(box, programs, box.source + at.source));
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

/// Loads what thread number `thread` loads of a tile: threads follow the rows, along which the
/// source is contiguous. All threads of the block load before any stores.
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

/// Stores what thread number `thread` stores: threads follow the columns, along which the target is
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
                             memory[row][column]);
}

} // namespace reshard::detail

#endif
