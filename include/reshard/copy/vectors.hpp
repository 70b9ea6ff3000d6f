// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_VECTORS_HPP
#define RESHARD_COPY_VECTORS_HPP

#include <reshard/copy/vector_conversion.hpp>
#include <reshard/copy/vector_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

/// \file
/// Vector registers of every width, and transposition of matrices in them.
///
/// Kernels are written once, in impl/vectors.ipp. That file is included once for each width,
/// because a function uses the registers that its `gnu::target` names, and a template parameter
/// cannot set this attribute.

namespace reshard::detail {

template <class Element, std::size_t Bytes>
struct vector_type {
    typedef Element type __attribute__((vector_size(Bytes)));
};

/// A register with `Bytes` bytes of elements.
template <class Element, std::size_t Bytes>
using vector_of = typename vector_type<Element, Bytes>::type;

/// A register's value in memory, at any address and regardless of the type that was written there.
template <class Vector>
struct vector_in_memory {
    typedef Vector type __attribute__((aligned(1), may_alias));
};

/// The integer of `Size` bytes.
template <std::size_t Size>
using integer_of = std::conditional_t<
    Size == 1, std::int8_t,
    std::conditional_t<Size == 2, std::int16_t,
                       std::conditional_t<Size == 4, std::int32_t, std::int64_t>>>;

/// A mask of ones, for any mask type of a compiler's builtin.
struct all_ones {
    template <class Mask>
    constexpr operator Mask() const {
        return static_cast<Mask>(-1);
    }
};

/// An address, for any pointer type of a compiler's builtin.
struct any_place {
    void const* address;

    template <class Type>
    operator Type*() const {
        return static_cast<Type*>(const_cast<void*>(address));
    }
};

/// A mask of the lowest `count` bits, at most 64.
constexpr std::uint64_t first_bits(index_t count) {
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << std::max<index_t>(count, 0)) - 1;
}

/// Four runs of lines. Each side has one distance between runs.
///
/// \par Units pitches in bytes
struct four_runs {
    unsigned char* target;
    std::ptrdiff_t target_pitch;
    unsigned char const* source;
    std::ptrdiff_t source_pitch;
};

} // namespace reshard::detail

#define RESHARD_VECTORS vectors16
#define RESHARD_WIDTH 16
#define RESHARD_TARGET
#include <reshard/copy/impl/vectors.ipp>

#if defined(__x86_64__)
#define RESHARD_VECTORS vectors32
#define RESHARD_WIDTH 32
#define RESHARD_TARGET [[gnu::target("avx2,f16c")]]
#include <reshard/copy/impl/vectors.ipp>

#define RESHARD_VECTORS vectors64
#define RESHARD_WIDTH 64
#define RESHARD_TARGET [[gnu::target("avx512bw,avx512dq,avx512vl,f16c")]]
#include <reshard/copy/impl/vectors.ipp>
#endif

namespace reshard::detail {

#if !defined(__x86_64__)
namespace vectors32 = vectors16;
namespace vectors64 = vectors16;
#endif

/// Transposes a square. If it streams, `streaming_fence` must follow.
///
/// \par Units pitches in bytes
/// \pre       the processor has the registers; if it streams, the target and its pitch are aligned
///            to a cache line
using square_function = void (*)(memory_lines<unsigned char const> source,
                                 memory_lines<unsigned char> target, bool streaming);

/// The function that transposes squares of elements of `Size` bytes with the given registers; null
/// if there is none.
template <std::size_t Size>
square_function square_transpose_of(vector_set vectors) {
    return vectors == vector_set::avx512 ? vectors64::transpose<Size>
           : vectors == vector_set::avx2 ? vectors32::transpose<Size>
                                         : nullptr;
}

/// The same for elements of `size` bytes.
inline square_function square_transpose(index_t size, vector_set vectors) {
    switch (size) {
    case 1: return square_transpose_of<1>(vectors);
    case 2: return square_transpose_of<2>(vectors);
    case 4: return square_transpose_of<4>(vectors);
    case 8: return square_transpose_of<8>(vectors);
    default: return nullptr;
    }
}

/// Transposes a square of 16 bytes by `16 / Size` lines.
template <std::size_t Size>
void transpose_square(unsigned char const* source, index_t source_pitch, unsigned char* target,
                      index_t target_pitch) {
    auto const transposed =
        vectors16::transpose_cells<Size>(source, source_pitch, vectors16::counted<16 / Size>());
    for (vectors16::whole const line : transposed.at) {
        vectors16::write(target, line);
        target += target_pitch;
    }
}

} // namespace reshard::detail

#endif
