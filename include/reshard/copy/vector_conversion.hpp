// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_VECTOR_CONVERSION_HPP
#define RESHARD_COPY_VECTOR_CONVERSION_HPP

#include <reshard/copy/byte_float.hpp>
#include <reshard/copy/vector_set.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/step_chain.hpp>

#include <algorithm>
#include <cstdint>

/// \file
/// Casts in registers of any width, and how rows are divided for them. A row is read once and its
/// result is written once, with non-temporal stores if requested.

namespace reshard::detail {

/// What a conversion in registers learns at run time.
struct conversion_values {
    byte_float const* format = nullptr; ///< the source's format if it is a float of a byte
    bool adds = false;                  ///< adds the operand; otherwise multiplies by it
    float operand = 1;                  ///< only for conversions that compute
    float const* scales = nullptr;      ///< of each element from `first` on, and 64 more floats
    unsigned char const* first = nullptr;

    bool operator==(conversion_values const&) const = default;
};

/// The functions for a cast between two types on this processor, perhaps with arithmetic before it.
/// Empty if the processor or the pair of types has none.
class vector_conversion {
public:
    using row_function = void (*)(conversion_values const& values, unsigned char const* source,
                                  unsigned char* target, index_t count, bool streaming);
    using square_function = void (*)(conversion_values const& values,
                                     memory_lines<unsigned char const> source,
                                     memory_lines<unsigned char> target, bool streaming);

    constexpr vector_conversion() = default;
    constexpr vector_conversion(row_function row_of, block_function block_of,
                                square_function square_of)
        : row_(row_of), block_(block_of), square_(square_of) {}

    explicit operator bool() const { return row_ != nullptr; }
    bool operator==(vector_conversion const&) const = default;

    /// The same conversion for a source of that format.
    vector_conversion with(byte_float const* format) const {
        vector_conversion bound = *this;
        bound.values_.format = format;
        return bound;
    }

    /// The same conversion with that constant.
    vector_conversion with(chain_step const& step) const {
        vector_conversion bound = *this;
        bound.values_.adds = step.computes == chain_step::operation::add;
        bound.values_.operand = static_cast<float>(step.operand);
        return bound;
    }

    /// Converts a row of any length at any address.
    void row(unsigned char const* source, unsigned char* target, index_t count,
             bool streaming) const {
        row_(values_, source, target, count, streaming);
    }

    /// The function that converts a dense block through the caches.
    block_function block() const { return block_; }

    bool has_squares() const { return square_ != nullptr; }

    /// Transposes and converts a square: one cache line from each of `square_width` source lines.
    ///
    /// \par Units pitches in bytes
    /// \pre       `has_squares()`; if it streams, the target and its pitch are aligned to a cache
    ///            line
    void square(memory_lines<unsigned char const> source, memory_lines<unsigned char> target,
                bool streaming) const {
        square_(values_, source, target, streaming);
    }

private:
    row_function row_ = nullptr;
    block_function block_ = nullptr;
    square_function square_ = nullptr;
    conversion_values values_;
};

/// The number of elements that are converted at once: whole cache lines of the target and whole
/// registers of 32 bytes.
constexpr index_t step_width(index_t source_size, index_t target_size) {
    return std::max(
        {index_t{16}, 32 / source_size, static_cast<index_t>(line_bytes) / target_size});
}

/// The number of elements along a side of a square: a cache line of elements of `size` bytes.
constexpr index_t square_side(index_t size) { return static_cast<index_t>(line_bytes) / size; }

/// The number of target elements in a line of a square. If target elements are larger than source
/// elements, the square has two adjacent cache lines: memory accepts two faster than one.
constexpr index_t square_width(index_t source_size, index_t target_size) {
    index_t const lines = source_size < target_size ? 2 : 1;
    return std::max(index_t{16}, lines * square_side(target_size));
}

/// How far ahead of the conversion the source is prefetched: narrowing casts read faster than the
/// processor prefetches by itself.
inline constexpr index_t ahead_bytes = 1024;

/// How far ahead of a square its lines are prefetched into the second-level cache. In the
/// first-level cache, lines with a power of two as their pitch would evict each other.
inline constexpr index_t square_ahead_bytes = 192;

/// Prefetches elements that are converted next.
[[gnu::always_inline]] inline void fetch(unsigned char const* source, index_t bytes) {
    for (index_t line = 0; line < bytes; line += index_t{line_bytes})
        __builtin_prefetch(source + line);
}

/// A divided row: the elements from `head` up to `end` are whole steps. With `has_whole_lines`,
/// these are cache lines of the target.
struct row_parts {
    index_t head;
    index_t end;
    bool has_whole_lines;
};

/// The bytes of a target element, and the number of elements that are converted at once.
struct row_step {
    index_t size;
    index_t width;
};

/// Divides a row of the target, at a cache line if that is possible and requested.
inline row_parts parts_of_row(unsigned char const* target, row_step step, index_t count,
                              bool wants_lines) {
    auto const to_line = static_cast<index_t>(bytes_to_line(target));
    bool const has_lines = wants_lines && to_line % step.size == 0;
    index_t const head = has_lines ? std::min(count, to_line / step.size) : 0;
    return {head, count - (count - head) % step.width, has_lines};
}

/// True if bf16 can represent every value of the type.
constexpr bool fits_bf16(data_type dtype) { return dtype == data_type::bf16 || bits(dtype) == 8; }

/// What is known about f32 patterns before they are packed.
enum class packed_values : std::uint8_t {
    any,
    exact,   ///< none needs rounding
    computed ///< arithmetic made them, so that no NaN is signalling
};

/// The constants that all kernels for one pair of types share.
template <data_type Source, data_type Target>
struct pair_of_sizes {
    static constexpr index_t source_size = bits(Source) / 8;
    static constexpr index_t target_size = bits(Target) / 8;
    static constexpr index_t step = step_width(source_size, target_size);
    static constexpr index_t lines_transposed = square_width(source_size, target_size);
    static constexpr bool is_exact = fits_bf16(Source) && fits_bf16(Target);
};

} // namespace reshard::detail

#endif
