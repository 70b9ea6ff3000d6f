// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_CONVERT_LANES_HPP
#define RESHARD_COPY_CONVERT_LANES_HPP

#include <reshard/copy/transpose_tile.hpp>
#include <reshard/copy/vector_conversion.hpp>
#include <reshard/copy/vector_float.hpp>

#include <cstring>

/// \file
/// Casts in the registers of AVX2, eight f32 patterns at a time.

namespace reshard::detail {

#if defined(__x86_64__)

/// A pair of types by the functions of each, in the registers of AVX2.
template <data_type SourceType, data_type TargetType>
struct convert_lanes : pair_of_sizes<SourceType, TargetType> {
    using Source = vector_float<SourceType>;
    using Target = vector_float<TargetType>;
    using sizes = pair_of_sizes<SourceType, TargetType>;
    using sizes::source_size, sizes::target_size, sizes::width, sizes::lines_transposed,
        sizes::is_exact;
    static constexpr std::size_t square_vectors = std::size_t{lines_transposed * target_size / 32};
    static constexpr std::size_t vectors = std::size_t{width * target_size / 32};

    /// Writes `count` vectors. The halves of a line of the cache are written one right after
    /// the other: between non-temporal stores, anything between them costs two thirds of the speed.
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static void
    write(__m256i const* packed, unsigned char* target, std::size_t count, bool streaming) {
        for (std::size_t i = 0; i < count; ++i)
            if (streaming)
                _mm256_stream_si256(vector_at<__m256i>(target) + i, packed[i]);
            else
                _mm256_storeu_si256(vector_at<__m256i>(target) + i, packed[i]);
    }

    /// Converts 16 elements.
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static void
    half_step(Source const& from, unsigned char const* source, __m256i* packed) {
        Target::template pack<is_exact>(from.load(source), from.load(source + 8 * source_size),
                                        packed);
    }

    /// Converts `width` elements.
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static void
    step(Source const& from, unsigned char const* source, unsigned char* target, bool streaming) {
        __m256i packed[vectors];
        half_step(from, source, packed);
        if constexpr (width == 32) // no loop, of which -O2 would keep the vectors in memory
            half_step(from, source + 16 * source_size, packed + 16 * target_size / 32);
        write(packed, target, vectors, streaming);
    }

    /// Converts fewer than `width` elements, among zeros.
    [[gnu::target("avx2,f16c"), gnu::noinline]] static void few(byte_float const* format,
                                                                unsigned char const* source,
                                                                unsigned char* target,
                                                                index_t count) {
        alignas(32) unsigned char elements[width * source_size] = {};
        alignas(32) unsigned char converted[width * target_size];
        std::memcpy(elements, source, static_cast<std::size_t>(count * source_size));
        step(Source(format), elements, converted, false);
        std::memcpy(target, converted, static_cast<std::size_t>(count * target_size));
    }

    [[gnu::target("avx2,f16c")]] static void row(byte_float const* format,
                                                 unsigned char const* source, unsigned char* target,
                                                 index_t count, bool streaming) {
        row_parts const parts = parts_of_row(target, {target_size, width}, count, streaming);
        if (parts.head > 0)
            few(format, source, target, parts.head);
        Source const from(format);
        for (index_t i = parts.head; i < parts.end; i += width) {
            fetch(source + i * source_size + ahead_bytes, width * source_size);
            step(from, source + i * source_size, target + i * target_size, parts.has_whole_lines);
        }
        if (parts.end < count)
            few(format, source + parts.end * source_size, target + parts.end * target_size,
                count - parts.end);
    }

    static void block(byte_float const* format, unsigned char const* source, unsigned char* target,
                      index_t count) {
        row(format, source, target, count, false);
    }

    /// Eight lines of the source, eight elements of each, transposed.
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static transposed_8x8
    transposed(Source const& from, unsigned char const* source, index_t pitch) {
        transposed_8x8 lines;
        for (index_t i = 0; i < 8; ++i)
            lines.lines[i] = _mm256_castsi256_ps(from.load(source + i * pitch));
        return transpose_8x8(lines);
    }

    [[gnu::target("avx2,f16c")]] static void square(byte_float const* format,
                                                    memory_lines<unsigned char const> source,
                                                    memory_lines<unsigned char> target,
                                                    bool streaming) {
        Source const from(format);
        for (index_t line = 0; line < square_lines(source_size); line += 8) {
            __m256i packed[8][square_vectors];
            for (index_t i = 0; i < lines_transposed; i += 16) {
                unsigned char const* const address =
                    source.first + i * source.pitch + line * source_size;
                transposed_8x8 const first = transposed(from, address, source.pitch);
                transposed_8x8 const second =
                    transposed(from, address + 8 * source.pitch, source.pitch);
                for (int k = 0; k < 8; ++k)
                    Target::template pack<is_exact>(_mm256_castps_si256(first.lines[k]),
                                                    _mm256_castps_si256(second.lines[k]),
                                                    packed[k] + i * target_size / 32);
            }
            for (int k = 0; k < 8; ++k)
                write(packed[k], target.first + (line + k) * target.pitch, square_vectors,
                      streaming);
        }
    }

    static vector_conversion functions() { return {row, block, square}; }
};

#endif

} // namespace reshard::detail

#endif
