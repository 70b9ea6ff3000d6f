// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/kernel_convert.hpp>

#ifdef RESHARD_WIDTH

#define RESHARD_INLINE RESHARD_TARGET [[gnu::always_inline]] inline

#include <reshard/copy/impl/vector_lanes.ipp>

#include <reshard/copy/impl/vector_floats.ipp>

namespace reshard::detail::RESHARD_VECTORS {

/// A cast between two types, composed of the functions of each type. `Source` may also compute.
template <data_type SourceType, data_type TargetType, class Source = vector_float<SourceType>>
struct cast : pair_of_sizes<SourceType, TargetType> {
    using Target = vector_float<TargetType>;
    using sizes = pair_of_sizes<SourceType, TargetType>;
    using sizes::source_size, sizes::target_size, sizes::step, sizes::lines_transposed;
    static constexpr bool computes = !std::is_same_v<Source, vector_float<SourceType>>;
    static constexpr bool scales = std::is_same_v<Source, scaled_float<SourceType>>;
    static constexpr packed_values values_are = computes          ? packed_values::computed
                                                : sizes::is_exact ? packed_values::exact
                                                                  : packed_values::any;
    static constexpr counted<step / lanes> loaded{};
    static constexpr counted<std::size_t{step * target_size} / width> written{};

    /// Loads register `I` of f32. Floats of a byte become bf16 first.
    template <std::size_t I>
    RESHARD_INLINE static whole load(Source const& from, unsigned char const* source) {
        unsigned char const* const elements = source + I * lanes * source_size;
        whole patterns;
        if constexpr (source_size == 1)
            patterns = as_upper_halves(half_of<I % 2>(from.template load_bf16<I / 2>(source)));
        else
            patterns = from.load(read_elements<source_size>(elements));
        if constexpr (computes)
            patterns = from.compute(patterns, elements);
        return patterns;
    }

    /// Converts `step` elements.
    template <std::size_t... From, std::size_t... To>
    RESHARD_INLINE static void convert(Source const& from, unsigned char const* source,
                                       unsigned char* target, bool streaming,
                                       std::index_sequence<From...>, std::index_sequence<To...>) {
        if constexpr (source_size == 1 && target_size == 2 && !computes) {
            whole const packed[] = {from.template load_bf16<To>(source)...};
            write_all(target, packed, streaming, written);
        } else {
            whole const values[] = {load<From>(from, source)...};
            whole const packed[] = {Target::template pack<values_are, To>(values)...};
            write_all(target, packed, streaming, written);
        }
    }

    RESHARD_INLINE static void convert(Source const& from, unsigned char const* source,
                                       unsigned char* target, bool streaming) {
        convert(from, source, target, streaming, loaded, written);
    }

    /// Converts fewer than `step` elements, padded with zeros.
    RESHARD_TARGET [[gnu::noinline]] static void few(conversion_values const& values,
                                                     unsigned char const* source,
                                                     unsigned char* target, index_t count) {
        constexpr auto bytes = static_cast<index_t>(width);
        alignas(line_bytes) unsigned char elements[std::max<index_t>(step * source_size, bytes)];
        alignas(line_bytes) unsigned char converted[std::max<index_t>(step * target_size, bytes)];
        for (index_t i = 0; i < step * source_size; i += bytes)
            write(elements + i, read_first(source + i, count * source_size - i));
        conversion_values at = values;
        if constexpr (scales) {
            at.scales += (source - values.first) / source_size;
            at.first = elements;
        }
        convert(Source(at), elements, converted, false);
        for (index_t i = 0; i < step * target_size; i += bytes)
            write_first(target + i, read<whole>(converted + i), count * target_size - i);
    }

    /// Converts `step` elements from element `i` on, and prefetches later elements.
    RESHARD_INLINE static void convert_at(Source const& from, unsigned char const* source,
                                          unsigned char* target, index_t i, bool streaming) {
        source += i * index_t{source_size};
        fetch(source + ahead_bytes, step * source_size);
        convert(from, source, target + i * index_t{target_size}, streaming);
    }

    /// The length of each of the four runs that `row` converts in step, like `stream_in_step`. The
    /// runs lie in different pages on both sides.
    static constexpr index_t run_length =
        static_cast<index_t>(page_bytes) / std::min(source_size, target_size);

    RESHARD_TARGET static void row(conversion_values const& values, unsigned char const* source,
                                   unsigned char* target, index_t count, bool streaming) {
        bool const is_line = in_line == 1;
        row_parts const parts =
            parts_of_row(target, {target_size, step}, count, streaming || is_line);
        bool const past_caches = streaming && parts.has_whole_lines;
        if (parts.head > 0)
            few(values, source, target, parts.head);
        Source const from(values);
        index_t i = parts.head;
        for (; is_line && past_caches && i + 4 * run_length <= parts.end; i += 4 * run_length)
            for (index_t first = i; first < i + run_length; first += step)
                for (index_t run = 0; run < 4; ++run)
                    convert_at(from, source, target, first + run * run_length, true);
        for (; i < parts.end; i += step)
            convert_at(from, source, target, i, past_caches);
        if (parts.end < count)
            few(values, source + parts.end * source_size, target + parts.end * target_size,
                count - parts.end);
    }

    static void block(byte_float const* format, unsigned char const* source, unsigned char* target,
                      index_t count) {
        row({format}, source, target, count, false);
    }

    /// Makes four target lines from a dense tile. The tile has one cache line from each of
    /// `lines_transposed` source lines.
    template <std::size_t... I>
    RESHARD_INLINE static registers<4> transposed(Source const& from, unsigned char const* tile,
                                                  std::index_sequence<I...>) {
        return transpose_cells<4>({from.load(read_fours<source_size>(tile + I * line_bytes))...});
    }

    template <std::size_t Line, std::size_t... From, std::size_t... To>
    RESHARD_INLINE static void write_line(registers<4> const* lines, unsigned char* target,
                                          bool streaming, std::index_sequence<From...>,
                                          std::index_sequence<To...>) {
        whole const values[] = {lines[From].at[Line]...};
        whole const packed[] = {Target::template pack<values_are, To>(values)...};
        write_all(target, packed, streaming, written);
    }

    /// Writes four lines of `step` elements.
    template <std::size_t... From, std::size_t... Line>
    RESHARD_INLINE static void
    write_four(Source const& from, unsigned char const* tile, memory_lines<unsigned char> target,
               bool streaming, std::index_sequence<From...>, std::index_sequence<Line...> four) {
        registers<4> const lines[] = {
            transposed(from, tile + From * (lanes * line_bytes), four)...};
        (write_line<Line>(lines, target.first + index_t{Line} * target.pitch, streaming, loaded,
                          written),
         ...);
    }

    /// Copies the lines to a dense tile, and prefetches the lines of the next square. Uses
    /// `read_first`: after `read`, g++ would load the source again instead of the tile.
    template <std::size_t... I>
    RESHARD_INLINE static void gather(memory_lines<unsigned char const> source, unsigned char* tile,
                                      std::index_sequence<I...>) {
        for (index_t i = 0; i < lines_transposed; ++i) {
            unsigned char const* const line = source.first + i * source.pitch;
            __builtin_prefetch(line + square_ahead_bytes, 0, 2);
            (write(tile + i * index_t{line_bytes} + I * width, read_first(line + I * width, width)),
             ...);
        }
    }

    RESHARD_TARGET static void square(conversion_values const& values,
                                      memory_lines<unsigned char const> source,
                                      memory_lines<unsigned char> target, bool streaming) {
        constexpr auto line = static_cast<index_t>(line_bytes);
        Source const from(values);
        alignas(line_bytes) unsigned char tile[std::size_t{lines_transposed} * line_bytes];
        gather(source, tile, counted<in_line>());
        for (index_t i = 0; i < square_side(source_size); i += 4)
            for (index_t j = 0; j < lines_transposed; j += step)
                write_four(from, tile + j * line + i * source_size,
                           {target.first + i * target.pitch + j * target_size, target.pitch},
                           streaming, loaded, counted<4>());
    }

    static vector_conversion functions() {
        if constexpr (computes)
            return {row, nullptr, nullptr};
        else
            return {row, block, square};
    }
};

} // namespace reshard::detail::RESHARD_VECTORS

#undef RESHARD_INLINE
#undef RESHARD_VECTORS
#undef RESHARD_WIDTH
#undef RESHARD_TARGET

#endif
