// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_CONVERT_LANES512_HPP
#define RESHARD_COPY_CONVERT_LANES512_HPP

#include <reshard/copy/vector_conversion.hpp>
#include <reshard/copy/vector_float512.hpp>

/// \file
/// Casts in the registers of AVX-512, each of which is a line of the cache and written at once.

namespace reshard::detail {

#if defined(__x86_64__)

/// How far ahead of a square its lines are fetched, into the second cache: in the first those whose
/// pitch is a power of two would push each other out.
inline constexpr index_t square_ahead_bytes = 192;

/// Sixteen lines of four f32 patterns each, transposed.
struct transposed_4x16 {
    __m512i lines[4];
};

/// Transposes sixteen lines, of which `lines[i]` has the lines i, i + 4, i + 8 and i + 12.
[[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] inline transposed_4x16
transpose_4x16(transposed_4x16 const& lines) {
    __m512i const low_01 = _mm512_maskz_unpacklo_epi32(all_lanes, lines.lines[0], lines.lines[1]);
    __m512i const high_01 = _mm512_maskz_unpackhi_epi32(all_lanes, lines.lines[0], lines.lines[1]);
    __m512i const low_23 = _mm512_maskz_unpacklo_epi32(all_lanes, lines.lines[2], lines.lines[3]);
    __m512i const high_23 = _mm512_maskz_unpackhi_epi32(all_lanes, lines.lines[2], lines.lines[3]);
    return {_mm512_maskz_unpacklo_epi64(all_pairs, low_01, low_23),
            _mm512_maskz_unpackhi_epi64(all_pairs, low_01, low_23),
            _mm512_maskz_unpacklo_epi64(all_pairs, high_01, high_23),
            _mm512_maskz_unpackhi_epi64(all_pairs, high_01, high_23)};
}

/// A pair of types by the functions of each.
template <data_type Source, data_type Target>
struct convert_lanes512 : pair_of_sizes<Source, Target> {
    using type = vector_float512<Source>;
    using sizes = pair_of_sizes<Source, Target>;
    using sizes::source_size, sizes::target_size, sizes::width, sizes::lines_transposed;

    /// Converts sixteen elements.
    template <class Elements>
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static auto
    convert(type const& from, Elements elements) {
        return pack(from.load(elements));
    }

    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static auto
    pack(__m512i values) {
        return vector_float512<Target>::template pack<sizes::is_exact>(values);
    }

    /// Converts `width` elements.
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static auto
    step(type const& from, unsigned char const* source) {
        if constexpr (source_size == 1 && target_size == 2)
            return from.to_bf16(_mm512_maskz_cvtepu8_epi16(all_halves, read_half(source)));
        else if constexpr (target_size == 2)
            return joined(convert(from, read_lanes<source_size>(source)),
                          convert(from, read_lanes<source_size>(source + 16 * source_size)));
        else
            return convert(from, read_lanes<source_size>(source));
    }

    /// Converts a few elements.
    [[gnu::target("avx512bw,avx512dq,avx512vl")]] static void
    few(type const& from, unsigned char const* source, unsigned char* target, index_t count) {
        for (; count > 0; count -= 16, source += 16 * source_size, target += 16 * target_size) {
            __mmask16 const lanes = first_lanes(std::min(count, index_t{16}));
            write_lanes(convert(from, read_lanes<source_size>(source, lanes)), target, lanes);
        }
    }

    /// Converts `width` elements from number `i` on, and fetches those that come later.
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static void
    step_at(type const& from, unsigned char const* source, unsigned char* target, index_t i,
            bool streaming) {
        fetch(source + i * source_size + ahead_bytes, width * source_size);
        write_lines(step(from, source + i * source_size), target + i * target_size, streaming);
    }

    /// Four runs of a row in step, as `stream_in_step` does, each in separate pages on both sides.
    static constexpr index_t run_length =
        static_cast<index_t>(page_bytes) / std::min(source_size, target_size);

    [[gnu::target("avx512bw,avx512dq,avx512vl")]] static void row(byte_float const* format,
                                                                  unsigned char const* source,
                                                                  unsigned char* target,
                                                                  index_t count, bool streaming) {
        type const from(format);
        row_parts const parts = parts_of_row(target, {target_size, width}, count, true);
        bool const past_caches = streaming && parts.has_whole_lines;
        few(from, source, target, parts.head);
        index_t i = parts.head;
        for (; past_caches && i + 4 * run_length <= parts.end; i += 4 * run_length)
            for (index_t first = i; first < i + run_length; first += width)
                for (index_t run = 0; run < 4; ++run)
                    step_at(from, source, target, first + run * run_length, true);
        for (; i < parts.end; i += width)
            step_at(from, source, target, i, past_caches);
        few(from, source + parts.end * source_size, target + parts.end * target_size,
            count - parts.end);
    }

    static void block(byte_float const* format, unsigned char const* source, unsigned char* target,
                      index_t count) {
        row(format, source, target, count, false);
    }

    /// Four lines of the target from a dense tile, which has a line of the cache of each of
    /// `lines_transposed` lines.
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static transposed_4x16
    transposed(type const& from, unsigned char const* tile) {
        constexpr index_t line = line_bytes;
        return transpose_4x16({from.load(read_fours<source_size>(tile, 4 * line)),
                               from.load(read_fours<source_size>(tile + line, 4 * line)),
                               from.load(read_fours<source_size>(tile + 2 * line, 4 * line)),
                               from.load(read_fours<source_size>(tile + 3 * line, 4 * line))});
    }

    /// Four lines of `width` elements, of which each group of lines in the tile gives sixteen.
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static void
    write_four(type const& from, unsigned char const* tile, memory_lines<unsigned char> target,
               bool streaming) {
        transposed_4x16 const first = transposed(from, tile);
        if constexpr (target_size == 2) {
            transposed_4x16 const second = transposed(from, tile + 16 * line_bytes);
            for (index_t k = 0; k < 4; ++k)
                write_lines(joined(pack(first.lines[k]), pack(second.lines[k])),
                            target.first + k * target.pitch, streaming);
        } else {
            for (index_t k = 0; k < 4; ++k)
                write_lines(pack(first.lines[k]), target.first + k * target.pitch, streaming);
        }
    }

    /// Makes a dense tile of the lines, and fetches what will be transposed next.
    [[gnu::target("avx512bw,avx512dq,avx512vl"), gnu::always_inline]] static void
    gather(memory_lines<unsigned char const> source, unsigned char* tile) {
        for (index_t i = 0; i < lines_transposed; ++i) {
            unsigned char const* const line = source.first + i * source.pitch;
            __builtin_prefetch(line + square_ahead_bytes, 0, 2);
            write_lines(read_lanes<4>(line), tile + i * index_t{line_bytes}, false);
        }
    }

    [[gnu::target("avx512bw,avx512dq,avx512vl")]] static void
    square(byte_float const* format, memory_lines<unsigned char const> source,
           memory_lines<unsigned char> target, bool streaming) {
        type const from(format);
        alignas(line_bytes) unsigned char tile[lines_transposed * index_t{line_bytes}];
        gather(source, tile);
        for (index_t i = 0; i < square_lines(source_size); i += 4)
            for (index_t j = 0; j < lines_transposed; j += width)
                write_four(from, tile + j * index_t{line_bytes} + i * source_size,
                           {target.first + i * target.pitch + j * target_size, target.pitch},
                           streaming);
    }

    static vector_conversion functions() { return {row, block, square}; }
};

#endif

} // namespace reshard::detail

#endif
