// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_UNIT_BATCH_HPP
#define RESHARD_DEVICE_UNIT_BATCH_HPP

#include <reshard/copy/choose.hpp>
#include <reshard/copy/loops.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/device/device.hpp>
#include <reshard/device/unit_kernels.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

/// \file
/// Copies as boxes of a batch, for the kernels of a device.

namespace reshard::detail {

/// A kernel: words in rows, or tiles of a transpose; and the size of a word, 1 to 16 bytes.
struct unit_kernel {
    bool tiles = false;
    std::uint32_t word_bytes = 1;

    static constexpr std::size_t count = 10;
    constexpr std::size_t number() const {
        return static_cast<std::size_t>(std::countr_zero(word_bytes)) + (tiles ? 5u : 0u);
    }
    static constexpr unit_kernel of(std::size_t number) {
        return {number >= 5, std::uint32_t{1} << number % 5};
    }
};

/// A copy as a box of a batch.
struct batch_box {
    unit_box box;
    unit_kernel kernel;
    std::int64_t units = 0;
};

/// The largest power of two, up to 16, that divides all byte positions of a side.
inline std::uint32_t alignment_of(void const* memory, index_t offset, index_vector const& strides,
                                  index_t size) {
    auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory)) |
                static_cast<std::uint64_t>(offset * size) | 16u;
    for (index_t const stride : strides)
        bits |= static_cast<std::uint64_t>(stride * size);
    return std::uint32_t{1} << std::countr_zero(bits);
}

/// The strides without the last axis.
inline index_vector outer(index_vector const& strides) {
    return {strides.begin(), strides.end() - (strides.empty() ? 0 : 1)};
}

/// Makes a box of a copy. Returns std::nullopt if kernels do not support the copy: elements below 8
/// bits, conversions of complex numbers, and scales.
///
/// \param program the number of the conversion; only if the copy converts
/// \pre   the loop is fused and has elements
inline std::optional<batch_box> box_of(device_copy const& work, std::uint32_t program) {
    element_conversion const& conversion = work.conversion;
    bool const converts = !conversion.chain.empty();
    index_t const source_bits = bits(conversion.source), target_bits = bits(conversion.target());
    if (source_bits < 8 || target_bits < 8 ||
        (converts && (is_complex(conversion.source) || conversion.chain.dequantizes())))
        return std::nullopt;
    index_t source_size = source_bits / 8, target_size = target_bits / 8;
    affine_copy loop = work.loop;
    bool const rows = has_rows(loop) && !converts;
    std::uint32_t const source_alignment =
        alignment_of(work.source, loop.source_offset,
                     rows ? outer(loop.source_strides) : loop.source_strides, source_size);
    std::uint32_t const target_alignment =
        alignment_of(work.target, loop.target_offset,
                     rows ? outer(loop.target_strides) : loop.target_strides, target_size);
    batch_box result;
    auto word = static_cast<std::uint32_t>(target_size);
    if (rows) {
        index_t const run = (loop.ndim() > 0 ? loop.extent.end()[-1] : 1) * source_size;
        word =
            std::min({source_alignment, target_alignment,
                      std::uint32_t{1} << std::countr_zero(static_cast<std::uint64_t>(run) | 16u)});
        loop = scaled(with_axes(loop, 1), {source_size, target_size});
        loop.extent.end()[-1] = run / word;
        loop.source_strides.end()[-1] = loop.target_strides.end()[-1] = word;
    } else {
        result.box.is_aligned = source_alignment >= source_size && target_alignment >= target_size;
        result.kernel.tiles = is_transposed(loop);
        if (result.kernel.tiles)
            loop = with_second_last(loop, contiguous_source_axis(loop));
        loop = scaled(loop, {source_size, target_size});
    }
    result.kernel.word_bytes = word;
    unit_box& box = result.box;
    box.source = static_cast<unsigned char const*>(work.source) + loop.source_offset;
    box.target = static_cast<unsigned char*>(work.target) + loop.target_offset;
    box.ndim = static_cast<std::uint32_t>(loop.ndim());
    std::copy(loop.extent.begin(), loop.extent.end(), box.extent);
    std::copy(loop.source_strides.begin(), loop.source_strides.end(), box.source_stride);
    std::copy(loop.target_strides.begin(), loop.target_strides.end(), box.target_stride);
    if (converts) {
        box.program = program;
        box.source_bytes = static_cast<std::uint32_t>(source_size);
    }
    result.units = 1;
    std::int64_t longest = 0;
    for (std::uint32_t axis = 0; axis < box.ndim; ++axis) {
        result.units *= result.kernel.tiles && axis + 2 >= box.ndim ? tiles_along(box.extent[axis])
                                                                    : box.extent[axis];
        longest = std::max(longest, box.extent[axis]);
    }
    box.is_small = std::max(longest, result.units) >> 32 == 0;
    return result;
}

/// The boxes of a batch, with the tables that kernels read.
class unit_batch {
public:
    /// Adds a copy. Returns false if kernels do not support it.
    bool add(device_copy const& work) {
        std::uint32_t const program =
            work.conversion.chain.empty() ? unit_box::no_program : number_of(work.conversion);
        std::optional<batch_box> const box = box_of(work, program);
        if (!box)
            return false;
        auto const number = static_cast<std::uint32_t>(boxes_.size());
        boxes_.push_back(box->box);
        std::int64_t const each = std::max<std::int64_t>(
            box->kernel.tiles ? 8 : block_threads,
            piece_bytes / (box->kernel.tiles ? tile_side * tile_side * box->kernel.word_bytes
                                             : box->kernel.word_bytes));
        auto& pieces = pieces_[box->kernel.number()];
        for (std::int64_t first = 0; first < box->units; first += each)
            pieces.push_back({number, first, std::min(first + each, box->units)});
        return true;
    }

    bool empty() const { return boxes_.empty(); }
    vector<unit_box> const& boxes() const { return boxes_; }
    vector<unit_program> const& programs() const { return programs_; }
    vector<unit_piece> const& pieces(std::size_t kernel) const { return pieces_[kernel]; }

private:
    static constexpr std::int64_t piece_bytes = std::int64_t{1} << 15;

    std::uint32_t number_of(element_conversion const& conversion) {
        if (is_complex(conversion.source) || conversion.chain.dequantizes())
            return unit_box::no_program; // refused
        std::pair const wanted(conversion.source, conversion.chain);
        auto const match = std::find(conversions_.begin(), conversions_.end(), wanted);
        auto const number = static_cast<std::uint32_t>(match - conversions_.begin());
        if (match == conversions_.end()) {
            conversions_.push_back(wanted);
            programs_.push_back(program_of(conversion.source, conversion.chain));
        }
        return number;
    }

    vector<unit_box> boxes_;
    vector<unit_program> programs_;
    vector<std::pair<data_type, step_chain>> conversions_; ///< by program
    vector<unit_piece> pieces_[unit_kernel::count];        ///< by kernel
};

} // namespace reshard::detail

#endif
