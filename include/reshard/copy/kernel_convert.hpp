// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_KERNEL_CONVERT_HPP
#define RESHARD_COPY_KERNEL_CONVERT_HPP

#include <reshard/copy/bits.hpp>
#include <reshard/copy/kernel_elements.hpp>
#include <reshard/copy/loops.hpp>
#include <reshard/copy/vector_conversion.hpp>
#include <reshard/copy/vectors.hpp>

/// \file
/// Copies that change the data type: in registers, or block by block through the first-level cache.

#if defined(__x86_64__)
#define RESHARD_VECTORS vectors32
#define RESHARD_WIDTH 32
#define RESHARD_TARGET [[gnu::target("avx2,f16c")]]
#include <reshard/copy/impl/casts.ipp>

#define RESHARD_VECTORS vectors64
#define RESHARD_WIDTH 64
#define RESHARD_TARGET [[gnu::target("avx512bw,avx512dq,avx512vl,f16c")]]
#include <reshard/copy/impl/casts.ipp>
#endif

namespace reshard::detail {

#if defined(__x86_64__)

template <data_type Source, data_type Target>
vector_conversion vector_conversion_between(vector_set set) {
    return set == vector_set::avx512 ? vectors64::cast<Source, Target>::functions()
                                     : vectors32::cast<Source, Target>::functions();
}

/// The conversion to `Target` if `source` is one of `Sources`.
template <data_type Target, data_type... Sources>
vector_conversion vector_conversion_from(data_type source, vector_set set) {
    vector_conversion conversion;
    (void)((source == Sources &&
            (conversion = vector_conversion_between<Sources, Target>(set), true)) ||
           ...);
    return conversion;
}

/// The same, also if `source` is a float of a byte.
template <data_type Target, data_type... Sources>
vector_conversion vector_conversion_from_bytes(data_type source, vector_set set) {
    byte_float const* const format = find_byte_float(source);
    if (!format || bits(source) < 8)
        return vector_conversion_from<Target, Sources...>(source, set);
    vector_conversion const conversion =
        format->has_only_nan() ? vector_conversion_between<data_type::f8_e4m3fnuz, Target>(set)
                               : vector_conversion_between<data_type::f8_e4m3, Target>(set);
    return conversion.with(format);
}

/// The conversion to `Target` that computes, if `source` is one of `Sources`.
template <data_type Target, data_type... Sources>
vector_conversion computing_conversion_from(data_type source, vector_set set) {
    vector_conversion conversion;
    (void)((source == Sources &&
            (conversion = set == vector_set::avx512
                              ? vectors64::cast<Sources, Target,
                                                vectors64::computed_float<Sources>>::functions()
                              : vectors32::cast<Sources, Target,
                                                vectors32::computed_float<Sources>>::functions(),
             true)) ||
           ...);
    return conversion;
}

/// The function for a source with scales if `source` is one of `Sources`.
template <data_type Target, data_type... Sources>
vector_conversion::row_function scale_function_from(data_type source, vector_set set) {
    vector_conversion::row_function function = nullptr;
    (void)((source == Sources &&
            (function =
                 set == vector_set::avx512
                     ? vectors64::cast<Sources, Target, vectors64::scaled_float<Sources>>::row
                     : vectors32::cast<Sources, Target, vectors32::scaled_float<Sources>>::row,
             true)) ||
           ...);
    return function;
}

#else

template <data_type Target, data_type... Sources>
vector_conversion::row_function scale_function_from(data_type, vector_set) {
    return nullptr;
}

template <data_type Target, data_type... Sources>
vector_conversion vector_conversion_from(data_type, vector_set) {
    return {};
}

template <data_type Target, data_type... Sources>
vector_conversion computing_conversion_from(data_type, vector_set) {
    return {};
}

template <data_type Target, data_type... Sources>
vector_conversion vector_conversion_from_bytes(data_type, vector_set) {
    return {};
}

#endif

/// The cast in registers. It has no functions if the cast would round twice through f32, or if the
/// processor lacks `set`.
inline vector_conversion vector_conversion_of(data_type source, data_type target,
                                              vector_set set = widest_vectors()) {
    using enum data_type;
    if (set == vector_set::none || !has(set))
        return {};
    switch (target) {
    case f32: return vector_conversion_from_bytes<f32, f64, bf16, f16>(source, set);
    case bf16: return vector_conversion_from_bytes<bf16, f32, f16>(source, set);
    case f16: return vector_conversion_from<f16, f32, bf16>(source, set);
    case f64: return vector_conversion_from<f64, f32>(source, set);
    default: return {};
    }
}

/// The arithmetic of a step and its cast, in registers. It has no functions if the step computes in
/// f64, for less common pairs of types, or if the processor lacks `set`.
inline vector_conversion computing_conversion_of(data_type source, chain_step const& step,
                                                 vector_set set = widest_vectors()) {
    using enum data_type;
    if (set == vector_set::none || !has(set))
        return {};
    switch (step.dtype) {
    case f32: return computing_conversion_from<f32, f32, bf16, f16>(source, set).with(step);
    case bf16: return computing_conversion_from<bf16, f32, bf16>(source, set).with(step);
    case f16: return computing_conversion_from<f16, f32, bf16, f16>(source, set).with(step);
    default: return {};
    }
}

/// The product with scales and its cast, in registers; null for less common pairs of types, or if
/// the processor lacks `set`.
inline vector_conversion::row_function scale_function_of(data_type source, data_type target,
                                                         vector_set set = widest_vectors()) {
    using enum data_type;
    if (set == vector_set::none || !has(set))
        return nullptr;
    byte_float const* const format = bits(source) == 8 ? find_byte_float(source) : nullptr;
    data_type const like = !format ? source : format->has_only_nan() ? f8_e4m3fnuz : f8_e4m3;
    return target == f32    ? scale_function_from<f32, f8_e4m3, f8_e4m3fnuz>(like, set)
           : target == bf16 ? scale_function_from<bf16, f32, f8_e4m3, f8_e4m3fnuz>(like, set)
                            : nullptr;
}

#if defined(__SSE2__)

/// Rounds to nearest, keeps subnormals and disables traps during its lifetime. The destructor
/// restores the environment and discards recorded exceptions. Programs that are compiled for speed
/// flush subnormals to zero, and a cast must not depend on that.
class float_environment {
public:
    float_environment() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(0x1f80); }
    ~float_environment() { __builtin_ia32_ldmxcsr(saved_); }

    float_environment(float_environment const&) = delete;
    float_environment& operator=(float_environment const&) = delete;

private:
    unsigned saved_;
};

#else

/// On other processors, the environment does not change.
struct float_environment {
    float_environment() {}
};

#endif

/// The number of elements of `size` bytes up to the next cache line, or `most` if that is less or
/// if the target is at a cache line.
inline index_t elements_to_line(unsigned char const* target, index_t size, index_t most) {
    auto const head = static_cast<index_t>(bytes_to_line(target)) / size;
    return head > 0 ? std::min(head, most) : most;
}

/// Converts one contiguous run, with non-temporal stores if requested.
///
/// \par Units `sizes` in bytes
template <class Convert>
void convert_run(Convert const& convert, element_sizes sizes, memory const& at, index_t count) {
    if (vector_conversion const direct = convert.in_registers())
        return direct.row(at.source, at.target, count, at.streaming);
    alignas(line_bytes) unsigned char block[Convert::block_bytes];
    constexpr index_t piece = Convert::block_elements;
    index_t const first = at.streaming ? elements_to_line(at.target, sizes.target, piece) : piece;
    for_each_piece(count, first, piece, [&](index_t begin, index_t end) {
        unsigned char const* const source = at.source + begin * sizes.source;
        unsigned char* const target = at.target + begin * sizes.target;
        convert(source, at.streaming ? block : target, end - begin);
        if (at.streaming)
            stream_bytes(target, block, static_cast<std::size_t>((end - begin) * sizes.target));
    });
}

/// Converts runs that are contiguous on both sides.
///
/// \par Units strides, offsets and `sizes` in bytes
/// \pre       `copy.ndim() >= 1`; the last axis is contiguous on both sides
void convert_rows(affine_copy const& copy, auto const& convert, element_sizes sizes,
                  memory const& at) {
    float_environment const as_usual;
    std::size_t const last = copy.ndim() - 1;
    index_t const count = copy.extent[last];
    bool const streaming = streams_rows(copy, static_cast<std::size_t>(count * sizes.target), at);
    auto const convert_one = [&](index_t source, index_t target) {
        convert_run(convert, sizes, {at.source + source, at.target + target, streaming}, count);
    };
    for_each_place(copy, last, place_visitor(convert_one));
}

/// True if a tile consists of whole squares.
inline bool is_squares(tile_extent extent, element_sizes sizes) {
    return extent.lines % square_side(sizes.source) == 0 &&
           extent.width % square_width(sizes.source, sizes.target) == 0;
}

/// Transposes and converts a tile square by square.
///
/// \par Units pitches and `sizes` in bytes
inline void convert_squares(vector_conversion const& convert, element_sizes sizes,
                            tile_extent extent, memory_lines<unsigned char const> source,
                            memory_lines<unsigned char> target, bool streaming) {
    for (index_t i = 0; i < extent.lines; i += square_side(sizes.source))
        for (index_t j = 0; j < extent.width; j += square_width(sizes.source, sizes.target))
            convert.square({source.first + j * source.pitch + i * sizes.source, source.pitch},
                           {target.first + i * target.pitch + j * sizes.target, target.pitch},
                           streaming);
}

/// Transposes and converts: squares in registers, or tiles. A tile is transposed in the source's
/// type and then converted as one block.
///
/// \par Units strides, offsets and `sizes` in bytes
/// \pre       the same as for `copy_transposed`, with a size for each side
void convert_transposed(affine_copy const& copy, auto const& convert, element_sizes sizes,
                        memory const& at) {
    float_environment const as_usual;
    alignas(line_bytes) unsigned char tile[tile_bytes];
    alignas(line_bytes) unsigned char converted[8 * tile_bytes];
    gather_function const gather_source = gather_tile_of(sizes.source);
    index_t const target_pitch = copy.target_strides[copy.ndim() - 2];
    index_t const source_pitch = copy.source_strides[copy.ndim() - 1];
    auto const transpose_tile = [&](tile_extent extent, unsigned char const* source,
                                    unsigned char* target) {
        gather_source(source, source_pitch, extent, tile);
        convert_run(convert, sizes, {tile, converted, false}, extent.lines * extent.width);
        index_t const line = extent.width * sizes.target;
        for (index_t i = 0; i < extent.lines; ++i)
            copy_run(target + i * target_pitch, converted + i * line,
                     static_cast<std::size_t>(line), at.streaming);
    };
    vector_conversion const direct = convert.in_registers();
    auto const has_squares = [&](tile_extent extent, unsigned char const* target) {
        return direct.has_squares() && is_squares(extent, sizes) &&
               (!at.streaming || begins_at_lines(target, target_pitch));
    };
    for_each_tile(copy, tiles_for(copy, sizes, at),
                  [&](tile_extent extent, index_t source, index_t target) {
                      if (has_squares(extent, at.target + target))
                          convert_squares(direct, sizes, extent, {at.source + source, source_pitch},
                                          {at.target + target, target_pitch}, at.streaming);
                      else
                          transpose_tile(extent, at.source + source, at.target + target);
                  });
}

/// A line of elements of `size` bits that are `stride` bits apart.
struct bit_line {
    index_t position;
    index_t stride;
    index_t size;
};

/// Copies a line of elements to a dense block.
inline void gather(unsigned char const* source, bit_line line, index_t count,
                   unsigned char* block) {
    auto const bytes = static_cast<std::size_t>(line.size / 8);
    for (index_t i = 0; i < count; ++i, line.position += line.stride) {
        if (bytes == 0)
            block[i] = static_cast<unsigned char>(
                read_bits(source, line.position, static_cast<int>(line.size)));
        else
            std::memcpy(block + i * line.size / 8, source + line.position / 8, bytes);
    }
}

/// Copies a dense block to a line of elements.
inline void scatter(unsigned char const* block, index_t count, bit_line line,
                    unsigned char* target) {
    auto const bytes = static_cast<std::size_t>(line.size / 8);
    for (index_t i = 0; i < count; ++i, line.position += line.stride) {
        if (bytes == 0)
            write_bits(target, line.position, static_cast<int>(line.size), block[i]);
        else
            std::memcpy(target + line.position / 8, block + i * line.size / 8, bytes);
    }
}

/// Converts elements with any strides and of any size.
///
/// \par Units strides, offsets and `sizes` in bits
/// \pre       `copy.ndim() >= 1`
template <class Convert>
void convert_strided(affine_copy const& copy, Convert const& convert, element_sizes sizes,
                     memory const& at) {
    float_environment const as_usual;
    alignas(line_bytes) unsigned char block[Convert::block_bytes];
    alignas(line_bytes) unsigned char converted[Convert::block_bytes];
    std::size_t const last = copy.ndim() - 1;
    bit_line from{0, copy.source_strides[last], sizes.source};
    bit_line to{0, copy.target_strides[last], sizes.target};
    auto const convert_line = [&](index_t source, index_t target) {
        constexpr index_t piece = Convert::block_elements;
        for_each_piece(copy.extent[last], piece, piece, [&](index_t begin, index_t end) {
            from.position = source + begin * from.stride;
            to.position = target + begin * to.stride;
            gather(at.source, from, end - begin, block);
            convert(block, converted, end - begin);
            scatter(converted, end - begin, to, at.target);
        });
    };
    for_each_place(copy, last, place_visitor(convert_line));
}

} // namespace reshard::detail

#endif
