// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/vectors.hpp>

#ifdef RESHARD_WIDTH

#define RESHARD_INLINE RESHARD_TARGET [[gnu::always_inline]] inline

namespace reshard::detail::RESHARD_VECTORS {

/// The bytes of a register, its number of 4-byte elements, and the number of registers in a cache
/// line.
inline constexpr std::size_t width = RESHARD_WIDTH;
inline constexpr std::size_t lanes = width / 4;
inline constexpr std::size_t in_line = line_bytes / width;

template <class Element>
using vector = vector_of<Element, width>;

/// A register of 4-byte integers, which most kernels use.
using whole = vector<std::int32_t>;

template <std::size_t Count>
using counted = std::make_index_sequence<Count>;

template <class To, class From>
RESHARD_INLINE To as(From value) {
    return reinterpret_cast<To>(value);
}

template <class Vector>
RESHARD_INLINE Vector read(unsigned char const* address) {
    return *reinterpret_cast<typename vector_in_memory<Vector>::type const*>(address);
}

template <class Vector>
RESHARD_INLINE void write(unsigned char* address, Vector value) {
    *reinterpret_cast<typename vector_in_memory<Vector>::type*>(address) = value;
}

/// Writes a register with a non-temporal store.
///
/// \pre the address is a multiple of the register's size
RESHARD_INLINE void stream(unsigned char* address, whole value) {
    auto* const place = static_cast<void*>(address);
#if defined(__clang__)
    __builtin_nontemporal_store(value, static_cast<whole*>(place));
#elif defined(__SSE2__)
    using words = vector<long long>;
#if RESHARD_WIDTH == 64
    __builtin_ia32_movntdq512(static_cast<words*>(place), as<words>(value));
#elif RESHARD_WIDTH == 32
    __builtin_ia32_movntdq256(static_cast<words*>(place), as<words>(value));
#else
    __builtin_ia32_movntdq(static_cast<words*>(place), as<words>(value));
#endif
#else
    write(address, value);
#endif
}

/// Writes registers with no other instructions in between. Other instructions between non-temporal
/// stores to a cache line cost two thirds of the speed.
template <std::size_t Count, std::size_t... I>
RESHARD_INLINE void write_all(unsigned char* address, whole const (&values)[Count], bool streaming,
                              std::index_sequence<I...>) {
    if (streaming)
        (stream(address + I * width, values[I]), ...);
    else
        (write(address + I * width, values[I]), ...);
}

/// Copies a cache line.
template <std::size_t... I>
RESHARD_INLINE void copy_line(unsigned char* target, unsigned char const* source, bool streaming,
                              std::index_sequence<I...> numbers) {
    whole const values[] = {read<whole>(source + I * width)...};
    write_all(target, values, streaming, numbers);
}

RESHARD_INLINE void stream_line(unsigned char* target, unsigned char const* source) {
    copy_line(target, source, true, counted<in_line>());
}

/// Copies `lines` cache lines of each of four runs, in turns of two lines. If the runs lie in four
/// pages, this is a fifth faster than one run after the other (Xeon of 2023, 4 KiB pages).
RESHARD_INLINE void stream_in_step(four_runs const& runs, std::size_t lines) {
    for (std::size_t done = 0; done < lines; done += 2)
        for (std::ptrdiff_t run = 0; run < 4; ++run) {
            unsigned char* const target = runs.target + run * runs.target_pitch + done * line_bytes;
            unsigned char const* const source =
                runs.source + run * runs.source_pitch + done * line_bytes;
            stream_line(target, source);
            if (done + 1 < lines)
                stream_line(target + line_bytes, source + line_bytes);
        }
}

/// Copies cache lines. If a register is a cache line, copies four pages at a time, then the rest.
RESHARD_INLINE void stream_inline(unsigned char* target, unsigned char const* source,
                                  std::size_t lines) {
    constexpr std::size_t page_lines = page_bytes / line_bytes;
    for (; in_line == 1 && lines >= 4 * page_lines; lines -= 4 * page_lines) {
        stream_in_step({target, page_bytes, source, page_bytes}, page_lines);
        target += 4 * page_bytes;
        source += 4 * page_bytes;
    }
    for (; lines > 0; --lines, source += line_bytes, target += line_bytes)
        stream_line(target, source);
}

RESHARD_TARGET inline void stream_lines(unsigned char* target, unsigned char const* source,
                                        std::size_t lines) {
    stream_inline(target, source, lines);
}

/// The number of rows after which the target is certainly in another page.
inline index_t rows_to_page(row_block const& row_block) {
    constexpr auto page = static_cast<index_t>(page_bytes);
    index_t const pitch = std::abs(row_block.target_pitch);
    return pitch == 0 ? 1 : (page + pitch - 1) / pitch;
}

/// Copies rows of whole cache lines. If a register is a cache line, copies four rows in step that
/// lie in different pages of the first block, and then the remaining rows one by one.
RESHARD_TARGET inline void stream_blocks(std::span<row_block const> blocks, index_t rows) {
    index_t const apart = blocks.empty() ? 1 : rows_to_page(blocks.front());
    index_t first = 0;
    for (; in_line == 1 && first + 4 * apart <= rows; first += 4 * apart)
        for (index_t row = first; row < first + apart; ++row)
            for (row_block const& row_block : blocks)
                stream_in_step({row_block.target + row * row_block.target_pitch,
                                apart * row_block.target_pitch,
                                row_block.source + row * row_block.source_pitch,
                                apart * row_block.source_pitch},
                               row_block.bytes / line_bytes);
    for (; first < rows; ++first)
        for (row_block const& row_block : blocks)
            stream_inline(row_block.target + first * row_block.target_pitch,
                          row_block.source + first * row_block.source_pitch,
                          row_block.bytes / line_bytes);
}

/// Interleaves the elements of two registers in groups of 16 bytes. Uses the lower half of each
/// group, or with `High` the upper half.
template <std::size_t Size, bool High, std::size_t... I>
RESHARD_INLINE whole interleave(whole a, whole b, std::index_sequence<I...>) {
    constexpr std::size_t cell = 16 / Size, first = High ? cell / 2 : 0, all = width / Size;
    using elements = vector<integer_of<Size>>;
    return as<whole>(
        __builtin_shufflevector(as<elements>(a), as<elements>(b),
                                (I / cell * cell + first + I % cell / 2 + I % 2 * all)...));
}

/// `Count` registers.
template <std::size_t Count>
struct registers {
    whole at[Count];
};

template <std::size_t Size, std::size_t Count, std::size_t... I>
RESHARD_INLINE registers<Count> interleave_all(registers<Count> const& given,
                                               std::index_sequence<I...>) {
    return {interleave<Size, I % 2 == 1>(given.at[I / 2], given.at[I / 2 + Count / 2],
                                         counted<width / Size>())...};
}

/// Transposes squares that are 16 bytes wide. A register has a line of several squares.
///
/// Interleaving line `i` with line `i + N/2` moves the highest bit of the line's number below the
/// column's bits. After log2(N) rounds, line and column numbers are exchanged.
template <std::size_t Size, std::size_t Rounds = 16 / Size>
RESHARD_INLINE registers<16 / Size> transpose_cells(registers<16 / Size> const& lines) {
    if constexpr (Rounds == 1)
        return lines;
    else
        return transpose_cells<Size, Rounds / 2>(interleave_all<Size>(lines, counted<16 / Size>()));
}

/// The same for lines in memory that are `pitch` bytes apart.
template <std::size_t Size, std::size_t... I>
RESHARD_INLINE registers<16 / Size> transpose_cells(unsigned char const* source, index_t pitch,
                                                    std::index_sequence<I...>) {
    return transpose_cells<Size>(
        registers<16 / Size>{read<whole>(source + static_cast<index_t>(I) * pitch)...});
}

#if RESHARD_WIDTH > 16

/// The 16-byte cells with these numbers, taken from two registers.
template <std::size_t... Cells, std::size_t... I>
RESHARD_INLINE whole pick(whole a, whole b, std::index_sequence<I...>) {
    constexpr std::size_t cells[] = {Cells...};
    using halves = vector<std::int64_t>;
    return as<whole>(
        __builtin_shufflevector(as<halves>(a), as<halves>(b), (2 * cells[I / 2] + I % 2)...));
}

template <std::size_t... Cells>
RESHARD_INLINE whole pick(whole a, whole b) {
    return pick<Cells...>(a, b, counted<2 * sizeof...(Cells)>());
}

/// Writes the target lines that consist of cells of register `i` of each group.
template <std::size_t Lines>
RESHARD_INLINE void write_cells(registers<Lines> const (&groups)[4], std::size_t i,
                                memory_lines<unsigned char> target, bool streaming) {
    whole const a = groups[0].at[i], b = groups[1].at[i];
    whole const c = groups[2].at[i], d = groups[3].at[i];
    constexpr counted<in_line> numbers;
#if RESHARD_WIDTH == 64
    whole const low_ab = pick<0, 1, 4, 5>(a, b), high_ab = pick<2, 3, 6, 7>(a, b);
    whole const low_cd = pick<0, 1, 4, 5>(c, d), high_cd = pick<2, 3, 6, 7>(c, d);
    whole const lines[4][1] = {{pick<0, 2, 4, 6>(low_ab, low_cd)},
                               {pick<1, 3, 5, 7>(low_ab, low_cd)},
                               {pick<0, 2, 4, 6>(high_ab, high_cd)},
                               {pick<1, 3, 5, 7>(high_ab, high_cd)}};
#else
    whole const lines[2][2] = {{pick<0, 2>(a, b), pick<0, 2>(c, d)},
                               {pick<1, 3>(a, b), pick<1, 3>(c, d)}};
#endif
    for (auto const& line : lines) {
        write_all(target.first, line, streaming, numbers);
        target.first += static_cast<index_t>(Lines) * target.pitch;
    }
}

/// Transposes a square of elements of any size. First transposes small squares, then treats these
/// as the elements of a square of four by four.
template <std::size_t Size>
RESHARD_TARGET void transpose(memory_lines<unsigned char const> source,
                              memory_lines<unsigned char> target, bool streaming) {
    constexpr std::size_t lines = 16 / Size;
    for (std::size_t column = 0; column < line_bytes; column += width) {
        registers<lines> groups[4];
        for (std::size_t group = 0; group < 4; ++group)
            groups[group] = transpose_cells<Size>(
                source.first + static_cast<index_t>(group * lines) * source.pitch + column,
                source.pitch, counted<lines>());
        for (std::size_t i = 0; i < lines; ++i)
            write_cells(groups, i,
                        {target.first + static_cast<index_t>(column / Size + i) * target.pitch,
                         target.pitch},
                        streaming);
    }
}

#endif

} // namespace reshard::detail::RESHARD_VECTORS

#undef RESHARD_INLINE
#undef RESHARD_VECTORS
#undef RESHARD_WIDTH
#undef RESHARD_TARGET

#endif
