// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_VECTOR_CONVERT_HPP
#define RESHARD_COPY_VECTOR_CONVERT_HPP

#include <reshard/copy/turn_square.hpp>
#include <reshard/copy/vector_float.hpp>

#include <algorithm>

/// \file
/// Casts in registers: a row is read once and its result written once, past the caches where asked for.

namespace reshard::detail {

/// Casts between two types, by the processor that runs; without functions where it or the pair has none.
struct vector_conversion {
    /// Converts a row of any length at any place.
    void (*row)(unsigned char const* source, unsigned char* target, index_t count,
                bool streaming) = nullptr;

    /// The same through the caches.
    block_function block = nullptr;

    /// Turns and converts a square: a line of the cache of each of `square_width` lines.
    ///
    /// \par Units pitches in bytes
    /// \pre       where it streams, the target and its pitch are aligned to a line of the cache
    void (*square)(memory_lines<unsigned char const> source, memory_lines<unsigned char> target,
                   bool streaming) = nullptr;
};

/// How many elements of a line of the target a square has: whole lines of the cache, and whole vectors.
constexpr index_t square_width(index_t target_size) {
    return std::max(index_t{16}, static_cast<index_t>(line_bytes) / target_size);
}

/// How many lines of the target a square has.
constexpr index_t square_lines(index_t source_size) {
    return static_cast<index_t>(line_bytes) / source_size;
}

/// How far ahead of what is converted a source is fetched: narrowing casts read faster than the processor
/// foresees.
inline constexpr index_t ahead_bytes = 1024;

/// A pair of types by the functions of each.
template <class Source, class Target>
struct vector_pair {
    static constexpr index_t source_size = sizeof(typename Source::stored);
    static constexpr index_t target_size = sizeof(typename Target::stored);
    static constexpr index_t width = square_width(target_size);
    static constexpr std::size_t vectors = std::size_t{width * target_size / 32};
    static constexpr bool is_exact = Source::fits_bf16 && Target::fits_bf16;

    static std::uint64_t convert(std::uint64_t value) {
        return Target::from_f32(Source::to_f32(static_cast<typename Source::stored>(value)));
    }

    /// The same, one by one, by the portable functions.
    [[gnu::noinline]] static void each(unsigned char const* source, unsigned char* target,
                                       index_t count) {
        for (index_t i = 0; i < count; ++i)
            convert_one<typename Source::stored, typename Target::stored, convert>(
                source + i * source_size, target + i * target_size);
    }

#if defined(__x86_64__)

    /// Writes what became of `width` elements. The halves of a line of the cache are written one right after
    /// the other: past the caches anything between them costs two thirds of the speed.
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static void
    write(__m256i const* packed, unsigned char* target, bool streaming) {
        for (std::size_t i = 0; i < vectors; ++i)
            if (streaming)
                _mm256_stream_si256(vector_at<__m256i>(target) + i, packed[i]);
            else
                _mm256_storeu_si256(vector_at<__m256i>(target) + i, packed[i]);
    }

    /// Converts 16 elements.
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static void
    half_step(unsigned char const* source, __m256i* packed) {
        Target::template pack<is_exact>(Source::load(source),
                                        Source::load(source + 8 * source_size), packed);
    }

    /// Converts `width` elements.
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static void
    step(unsigned char const* source, unsigned char* target, bool streaming) {
        __m256i packed[vectors];
        half_step(source, packed);
        if constexpr (width == 32) // no loop, of which -O2 would keep the vectors in memory
            half_step(source + 16 * source_size, packed + 16 * target_size / 32);
        write(packed, target, streaming);
    }

    [[gnu::target("avx2,f16c")]] static void row(unsigned char const* source, unsigned char* target,
                                                 index_t count, bool streaming) {
        auto const to_line = static_cast<index_t>(bytes_to_line(target));
        bool const past_caches = streaming && to_line % target_size == 0;
        index_t const head = past_caches ? std::min(count, to_line / target_size) : 0;
        if (head > 0)
            each(source, target, head);
        index_t i = head;
        for (; i + width <= count; i += width) {
            for (index_t line = 0; line < width * source_size; line += index_t{line_bytes})
                _mm_prefetch(source + i * source_size + line + ahead_bytes, _MM_HINT_T0);
            step(source + i * source_size, target + i * target_size, past_caches);
        }
        if (i < count)
            each(source + i * source_size, target + i * target_size, count - i);
    }

    static void block(unsigned char const* source, unsigned char* target, index_t count) {
        row(source, target, count, false);
    }

    /// Eight lines of the source, eight elements of each, turned.
    [[gnu::target("avx2,f16c"), gnu::always_inline]] static turned_8x8
    turned(unsigned char const* source, index_t pitch) {
        turned_8x8 given;
        for (index_t i = 0; i < 8; ++i)
            given.lines[i] = _mm256_castsi256_ps(Source::load(source + i * pitch));
        return turn(given);
    }

    [[gnu::target("avx2,f16c")]] static void square(memory_lines<unsigned char const> source,
                                                    memory_lines<unsigned char> target,
                                                    bool streaming) {
        for (index_t line = 0; line < square_lines(source_size); line += 8) {
            __m256i packed[8][vectors];
            for (index_t i = 0; i < width; i += 16) {
                unsigned char const* const from =
                    source.first + i * source.pitch + line * source_size;
                turned_8x8 const first = turned(from, source.pitch);
                turned_8x8 const second = turned(from + 8 * source.pitch, source.pitch);
                for (int k = 0; k < 8; ++k)
                    Target::template pack<is_exact>(_mm256_castps_si256(first.lines[k]),
                                                    _mm256_castps_si256(second.lines[k]),
                                                    packed[k] + i * target_size / 32);
            }
            for (int k = 0; k < 8; ++k)
                write(packed[k], target.first + (line + k) * target.pitch, streaming);
        }
    }

    static vector_conversion functions() {
        return has_vector_floats() ? vector_conversion{row, block, square} : vector_conversion{};
    }

#else

    static vector_conversion functions() { return {}; }

#endif
};

/// From any of the `Sources` to `Target`.
template <data_type Target, data_type... Sources>
vector_conversion vector_conversion_from(data_type source) {
    vector_conversion found;
    (void)((source == Sources &&
            (found = vector_pair<vector_float<Sources>, vector_float<Target>>::functions(),
             true)) ||
           ...);
    return found;
}

/// The table of casts in registers. What would round twice by way of f32 is not in it.
inline vector_conversion vector_conversion_of(data_type source, data_type target) {
    using enum data_type;
    switch (target) {
    case f32:
        return vector_conversion_from<f32, f64, bf16, f16, f8_e4m3, f8_e5m2, f8_e4m3fnuz,
                                      f8_e5m2fnuz>(source);
    case bf16:
        return vector_conversion_from<bf16, f32, f16, f8_e4m3, f8_e5m2, f8_e4m3fnuz, f8_e5m2fnuz>(
            source);
    case f16: return vector_conversion_from<f16, f32, bf16>(source);
    case f64: return vector_conversion_from<f64, f32>(source);
    default: return {};
    }
}

} // namespace reshard::detail

#endif
