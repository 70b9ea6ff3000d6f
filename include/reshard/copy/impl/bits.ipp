// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_IMPL_BITS_IPP
#define RESHARD_COPY_IMPL_BITS_IPP

#include <reshard/copy/bits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace reshard::detail {

RESHARD_DECL unsigned read_bits(unsigned char const* bytes, index_t position, int count) {
    unsigned char const* const first = bytes + (position >> 3);
    int const shift = static_cast<int>(position & 7);
    unsigned value = *first;
    if (shift + count > 8)
        value |= static_cast<unsigned>(first[1]) << 8;
    return (value >> shift) & ((1u << count) - 1);
}

RESHARD_DECL void write_bits(unsigned char* bytes, index_t position, int count, unsigned value) {
    unsigned char* const first = bytes + (position >> 3);
    int const shift = static_cast<int>(position & 7);
    unsigned const mask = ((1u << count) - 1) << shift;
    unsigned const moved = (value << shift) & mask;
    *first = static_cast<unsigned char>((*first & ~mask) | moved);
    if (shift + count > 8)
        first[1] = static_cast<unsigned char>((first[1] & ~(mask >> 8)) | (moved >> 8));
}

RESHARD_DECL void copy_bits(bit_place source, unsigned char* target, index_t position,
                            index_t count) {
    auto const move = [&](int piece) {
        write_bits(target, position, piece, read_bits(source.bytes, source.position, piece));
        source.position += piece;
        position += piece;
        count -= piece;
    };
    if (count > 0 && position % 8 != 0)
        move(static_cast<int>(std::min<index_t>(count, 8 - position % 8)));
    if (count >= 8 && source.position % 8 == 0) {
        index_t const total = count / 8;
        std::memcpy(target + position / 8, source.bytes + source.position / 8,
                    static_cast<std::size_t>(total));
        source.position += 8 * total;
        position += 8 * total;
        count -= 8 * total;
    }
    while (count > 0)
        move(static_cast<int>(std::min<index_t>(count, 8)));
}

} // namespace reshard::detail

#endif
