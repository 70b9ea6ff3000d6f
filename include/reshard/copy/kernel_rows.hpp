// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_KERNEL_ROWS_HPP
#define RESHARD_COPY_KERNEL_ROWS_HPP

#include <reshard/copy/bits.hpp>
#include <reshard/copy/stream_blocks.hpp>

/// \file
/// Runs that are contiguous on both sides: one of them, or many.

namespace reshard::detail {

/// Copies runs of `copy.extent` last axis times `size` bytes each.
///
/// \par Units strides and offsets in bytes
/// \pre       `copy.ndim() >= 1`; the last axis has the stride `size` on both sides
inline void copy_rows(affine_copy const& copy, index_t size, memory const& at) {
    std::size_t const last = copy.ndim() - 1;
    auto const run = static_cast<std::size_t>(size * copy.extent[last]);
    bool const streaming = streams_rows(copy, run, at);
    auto const stream_rows = [&](index_t source, index_t target) {
        row_block const rows{at.source + source, at.target + target, copy.source_strides[last - 1],
                             copy.target_strides[last - 1], run};
        stream_blocks(widest_vectors(), {&rows, 1}, copy.extent[last - 1]);
    };
    if (streaming && last > 0)
        return for_each_place(copy, last - 1, place_visitor(stream_rows));
    for_each_place(copy, last, [&](index_t source, index_t target) {
        copy_run(at.target + target, at.source + source, run, streaming);
    });
}

/// Copies elements of `size` bits, those of the last axis as one run where it is contiguous.
///
/// \par Units strides and offsets in bits
/// \pre       `copy.ndim() >= 1`
/// \post      no bit of the target but those of its elements has changed
inline void copy_packed(affine_copy const& copy, index_t size, memory const& at) {
    std::size_t const last = copy.ndim() - 1;
    bool const has_runs = copy.source_strides[last] == size && copy.target_strides[last] == size;
    index_t const run = has_runs ? size * copy.extent[last] : size;
    auto const copy_one = [&](index_t source, index_t target) {
        copy_bits({at.source, source}, at.target, target, run);
    };
    for_each_place(copy, has_runs ? last : copy.ndim(), place_visitor(copy_one));
}

} // namespace reshard::detail

#endif
