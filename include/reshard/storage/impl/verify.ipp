// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_VERIFY_IPP
#define RESHARD_STORAGE_IMPL_VERIFY_IPP

#include <reshard/storage/verify.hpp>

#include <reshard/storage/stored_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace reshard::detail {

/// The shards with digests that process `rank` of `size` verifies.
inline vector<shard_place> shards_to_verify(checkpoint const& source, int rank, int size) {
    vector<shard_place> shard_places;
    auto const files = united(source);
    auto const& tensors = source.metadata().tensors;
    auto const is_mine = [&](std::size_t tensor, checkpoint_shard const& shard) {
        return files ? files->ranks_of(source.metadata().files[shard.file].path).front() == rank
                     : tensor % static_cast<std::size_t>(size) == static_cast<std::size_t>(rank);
    };
    for (std::uint32_t t = 0; t < tensors.size(); ++t)
        for (std::uint32_t i = 0; i < tensors[t].shards.size(); ++i)
            if (!source.metadata().aliases.contains(tensors[t].key) &&
                !tensors[t].shards[i].digests.empty() && is_mine(t, tensors[t].shards[i]))
                shard_places.push_back({t, i});
    return shard_places;
}

RESHARD_DECL void check_tiling(checkpoint const& source, int rank, int size) {
    checkpoint_metadata const& metadata = source.metadata();
    auto const has_none = [](checkpoint_file const& file) { return file.chunk_bytes == 0; };
    bool const some_lack_digests = std::ranges::any_of(metadata.files, has_none);
    auto const lacks_digests = [&](checkpoint_tensor const& tensor) {
        if (metadata.aliases.contains(tensor.key))
            return false;
        if (tensor.shards.empty())
            return some_lack_digests;
        return std::ranges::any_of(tensor.shards, [&](checkpoint_shard const& shard) {
            return has_none(metadata.files[shard.file]);
        });
    };
    check_total_bytes(metadata, lacks_digests);
    for (auto t = static_cast<std::size_t>(rank); t < metadata.tensors.size();
         t += static_cast<std::size_t>(size))
        if (lacks_digests(metadata.tensors[t]))
            stored_tensor(source, t).check_cover();
}

RESHARD_DECL vector<bad_chunk> bad_chunks(checkpoint const& source, int rank, int size,
                                          progress_function const& progress) {
    vector<bad_chunk> chunks;
    chunk_reader reader(source, true);
    auto const shards = shards_to_verify(source, rank, size);
    index_t bytes = 0;
    for (shard_place const shard_place : shards) {
        checkpoint_shard const& shard =
            source.metadata().tensors[shard_place.tensor].shards[shard_place.shard];
        bytes += static_cast<index_t>(shard.end - shard.begin);
    }
    progress_count count(progress, bytes);
    for (shard_place const shard_place : shards) {
        auto const bad = reader.find_bad(shard_place, count);
        chunks.insert(chunks.end(), bad.begin(), bad.end());
    }
    return chunks;
}

RESHARD_DECL verification verifiable(checkpoint const& source) {
    verification result;
    for (checkpoint_tensor const& tensor : source.metadata().tensors)
        if (!source.metadata().aliases.contains(tensor.key))
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
