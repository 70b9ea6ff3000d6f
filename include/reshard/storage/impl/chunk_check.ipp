// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CHUNK_CHECK_IPP
#define RESHARD_STORAGE_IMPL_CHUNK_CHECK_IPP

#include <reshard/storage/chunk_check.hpp>

#include <reshard/format/chunk_digests.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace reshard::detail {

RESHARD_DECL std::string describe(bad_chunk const& chunk) {
    return words(chunk.file, ": tensor '", chunk.key, "': the bytes ", chunk.begin, " to ",
                 chunk.end, " of the file were changed: their digest is ", hex_text(chunk.found),
                 ", and was ", hex_text(chunk.expected),
                 " when they were saved; load another checkpoint");
}

RESHARD_DECL std::optional<bad_chunk> chunk_check::find_bad_chunk(checkpoint_tensor const& tensor,
                                                                  checkpoint_shard const& shard,
                                                                  std::uint64_t number) const {
    checkpoint_file const& file = source_.metadata().files[shard.file];
    std::uint64_t const begin = shard.begin + number * file.chunk_bytes;
    std::uint64_t const end = std::min(shard.end, begin + file.chunk_bytes);
    std::uint64_t const found = digest_of_bytes({source_.bytes(shard.file) + begin, end - begin});
    if (found == shard.digests[number])
        return std::nullopt;
    return bad_chunk{file.path.string(), tensor.key, begin, end, shard.digests[number], found};
}

RESHARD_DECL std::optional<bad_chunk> chunk_check::find_bad(std::uint32_t tensor,
                                                            std::uint32_t shard,
                                                            std::uint64_t begin,
                                                            std::uint64_t end) {
    checkpoint_tensor const& whole = source_.metadata().tensors[tensor];
    checkpoint_shard const& stored = whole.shards[shard];
    if (stored.digests.empty() || begin >= end)
        return std::nullopt;
    std::uint64_t const chunk_size = source_.metadata().files[stored.file].chunk_bytes;
    std::vector<bool>& seen = seen_[{tensor, shard}];
    seen.resize(stored.digests.size());
    for (std::uint64_t i = begin / chunk_size; i <= (end - 1) / chunk_size; ++i) {
        if (seen[i])
            continue;
        if (auto bad = find_bad_chunk(whole, stored, i))
            return bad;
        seen[i] = true;
    }
    return std::nullopt;
}

RESHARD_DECL void chunk_check::check(bound_plan const& bound, transfer const& t) {
    index_vector const extent = cut_of(bound.whole, t).extent;
    if (t.source_key == zero_source || element_count(extent) == 0)
        return;
    auto const place = source_end(bound, t).place;
    index_t last = place.offset;
    for (std::size_t axis = 0; axis < extent.size(); ++axis)
        last += (extent[axis] - 1) * place.strides[axis];
    index_t const width = bits(bound.whole.source_dtypes[t.source_key]);
    if (auto const bad = find_bad(bound.problem.sources[t.source_key].tensor, t.source_shard,
                                  static_cast<std::uint64_t>(place.offset * width / 8),
                                  static_cast<std::uint64_t>(((last + 1) * width + 7) / 8)))
        fail(errc::corrupt_file, describe(*bad));
}

RESHARD_DECL void check_chunks(checkpoint const& source, bound_plan const& bound, bool verify) {
    if (!verify)
        return;
    chunk_check chunks(source);
    for (transfer const& one : bound.whole.transfers)
        chunks.check(bound, one);
}

RESHARD_DECL std::vector<bad_chunk> bad_chunks(checkpoint const& source, std::size_t first,
                                               std::size_t step) {
    std::vector<bad_chunk> all;
    chunk_check chunks(source);
    auto const& tensors = source.metadata().tensors;
    for (std::size_t t = first; t < tensors.size(); t += step)
        for (std::uint32_t i = 0; i < tensors[t].shards.size(); ++i) {
            checkpoint_shard const& shard = tensors[t].shards[i];
            std::uint64_t const size = source.metadata().files[shard.file].chunk_bytes;
            for (std::uint64_t chunk = 0; chunk < shard.digests.size(); ++chunk)
                if (auto bad = chunks.find_bad(static_cast<std::uint32_t>(t), i, chunk * size,
                                               chunk * size + 1))
                    all.push_back(std::move(*bad));
        }
    return all;
}

} // namespace reshard::detail

namespace reshard::detail {

RESHARD_DECL verification verifiable(checkpoint const& source) {
    verification result;
    for (checkpoint_tensor const& tensor : source.metadata().tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            if (!shard.digests.empty())
                result.bytes += static_cast<index_t>(shard.end - shard.begin);
    for (checkpoint_file const& file : source.metadata().files)
        if (file.chunk_bytes == 0)
            result.unverified.push_back(file.path.string());
    return result;
}

} // namespace reshard::detail

#endif
