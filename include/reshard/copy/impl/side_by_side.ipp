// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_IMPL_SIDE_BY_SIDE_IPP
#define RESHARD_COPY_IMPL_SIDE_BY_SIDE_IPP

#include <reshard/copy/side_by_side.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>

#include <boost/assert.hpp>

#include <cstdint>
#include <span>

namespace reshard::detail {

RESHARD_DECL std::uint32_t copy_table::add(affine_copy const& copy,
                                           element_conversion const& conversion, stores how) {
    auto const number = static_cast<std::uint32_t>(copies_.size());
    auto const [place, is_new] = numbers_.try_emplace({copy, conversion, how}, number);
    if (is_new)
        copies_.push_back(prepare(copy, conversion, how));
    return place->second;
}

RESHARD_DECL std::size_t copy_table::hash::operator()(description const& one) const {
    hasher digest;
    digest.add(std::span<index_t const>(one.copy.extent));
    digest.add(std::span<index_t const>(one.copy.source_strides));
    digest.add(std::span<index_t const>(one.copy.target_strides));
    digest.add(static_cast<std::uint64_t>(one.copy.source_offset));
    digest.add(static_cast<std::uint64_t>(one.copy.target_offset));
    return digest.value();
}

/// True where the copy is a loop over runs of bytes, one loop and no more.
inline bool is_block(prepared_copy const& copy) {
    return copy.kernel == copy_kernel::rows && copy.loop.ndim() == 2;
}

RESHARD_DECL bool are_alike(prepared_copy const& a, prepared_copy const& b, copy_end end) {
    return is_block(a) && is_block(b) && a.streaming == b.streaming &&
           a.loop.extent[0] == b.loop.extent[0] && (a.loop.*end)[0] == (b.loop.*end)[0];
}

RESHARD_DECL bool is_in_row(void const* first, void const* next, index_t pitch) {
    auto const distance =
        reinterpret_cast<std::uintptr_t>(next) - reinterpret_cast<std::uintptr_t>(first);
    return pitch > 0 && distance < static_cast<std::uintptr_t>(pitch);
}

RESHARD_DECL void side_by_side::add(prepared_copy const& copy, void const* source, void* target,
                                    bool joins_next) {
    if (count_ == 0 && !joins_next)
        return run(copy, source, target);
    BOOST_ASSERT(is_block(copy));
    auto const* const from = static_cast<unsigned char const*>(source);
    auto* const to = static_cast<unsigned char*>(target);
    affine_copy const& loop = copy.loop;
    append({from + loop.source_offset, to + loop.target_offset, loop.source_strides[0],
            loop.target_strides[0], static_cast<std::size_t>(loop.extent[1] * copy.sizes.source)});
    if (!joins_next || count_ == most)
        run_blocks(loop.extent[0], copy.streaming);
}

RESHARD_DECL void side_by_side::append(row_block const& one) {
    if (count_ > 0 && continues(blocks_[count_ - 1], one))
        blocks_[count_ - 1].bytes += one.bytes;
    else
        blocks_[count_++] = one;
}

RESHARD_DECL void side_by_side::run_blocks(index_t rows, bool streaming) {
    std::span<row_block const> const blocks(blocks_, count_);
    if (streaming) {
        stream_blocks(widest_vectors(), blocks, rows);
        streaming_fence();
    } else {
        copy_blocks(blocks, rows, false);
    }
    count_ = 0;
}

} // namespace reshard::detail

#endif
