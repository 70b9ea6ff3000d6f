// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_RUN_KERNEL_HPP
#define RESHARD_TEST_SUPPORT_RUN_KERNEL_HPP

#include <reshard/device/unit_batch.hpp>
#include <reshard/device/unit_kernels.hpp>

#include <cstddef>
#include <cstdint>

/// \file
/// The kernels of devices, run by the processor thread by thread.

namespace reshard::test {

using namespace reshard::detail;

template <class Word>
void run_words(unit_box const& box, unit_program const* programs, unit_piece const& piece) {
    for (std::uint32_t thread = block_threads; thread-- > 0;)
        for (std::int64_t unit = piece.first + thread; unit < piece.end; unit += block_threads)
            copy_unit<Word>(box, programs, unit);
}

template <class Word>
void run_tiles(unit_box const& box, unit_program const* programs, unit_piece const& piece) {
    for (std::int64_t unit = piece.first; unit < piece.end; ++unit) {
        tile_memory<Word> memory;
        unit_tile const tile = tile_of(box, unit);
        for (std::uint32_t thread = 0; thread < block_threads; ++thread)
            load_tile<Word>(box, programs, tile, thread, memory);
        for (std::uint32_t thread = 0; thread < block_threads; ++thread)
            store_tile<Word>(box, tile, thread, memory);
    }
}

template <class Word>
void run_piece(bool tiles, unit_box const& box, unit_program const* programs,
               unit_piece const& piece) {
    tiles ? run_tiles<Word>(box, programs, piece) : run_words<Word>(box, programs, piece);
}

/// Whether the threads of a kernel would use an address that is no multiple of a word's size. A GPU
/// fails there.
inline bool is_misaligned(unit_box const& box, std::size_t word) {
    auto const differs = [&](void const* memory, std::int64_t const* strides, std::size_t size) {
        auto bits = reinterpret_cast<std::uintptr_t>(memory);
        for (std::uint32_t axis = 0; axis < box.ndim; ++axis)
            if (box.extent[axis] > 1)
                bits |= static_cast<std::uintptr_t>(strides[axis]);
        return bits % size != 0;
    };
    bool const casts = box.program != unit_box::no_program;
    return box.is_aligned &&
           (differs(box.source, box.source_stride, casts ? box.source_bytes : word) ||
            differs(box.target, box.target_stride, word));
}

/// Runs kernel `number`: one block of threads for each piece.
inline void run_kernel(std::size_t number, std::size_t count, unit_box const* boxes,
                       unit_program const* programs, unit_piece const* pieces) {
    unit_kernel const kernel = unit_kernel::of(number);
    for (std::size_t i = 0; i < count; ++i) {
        unit_box const& box = boxes[pieces[i].box];
        switch (kernel.word_bytes) {
        case 1: run_piece<std::uint8_t>(kernel.tiles, box, programs, pieces[i]); break;
        case 2: run_piece<std::uint16_t>(kernel.tiles, box, programs, pieces[i]); break;
        case 4: run_piece<std::uint32_t>(kernel.tiles, box, programs, pieces[i]); break;
        case 8: run_piece<std::uint64_t>(kernel.tiles, box, programs, pieces[i]); break;
        default: run_piece<wide_word>(kernel.tiles, box, programs, pieces[i]);
        }
    }
}

} // namespace reshard::test

#endif
