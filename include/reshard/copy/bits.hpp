// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_BITS_HPP
#define RESHARD_COPY_BITS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>

/// \file
/// Reads and writes bits at any position in memory, lowest bit first. Elements of 4 and 6 bits are
/// packed in this way.

namespace reshard::detail {

/// The `count` bits from bit `position` on.
///
/// \pre `0 < count <= 8`; only bytes that hold one of the bits are read
RESHARD_DECL unsigned read_bits(unsigned char const* bytes, index_t position, int count);

/// Writes the lowest `count` bits of `value` at bit `position`. Other bits do not change.
///
/// \pre `0 < count <= 8`; only bytes that hold one of the bits are read and written
RESHARD_DECL void write_bits(unsigned char* bytes, index_t position, int count, unsigned value);

/// The address of a bit.
struct bit_place {
    unsigned char const* bytes;
    index_t position;
};

/// Copies `count` bits from `source` to bit `position` of `target`, whole bytes at a time.
RESHARD_DECL void copy_bits(bit_place source, unsigned char* target, index_t position,
                            index_t count);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/copy/impl/bits.ipp>
#endif

#endif
