// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_VERIFY_IPP
#define RESHARD_STORAGE_IMPL_VERIFY_IPP

#include <reshard/storage/verify.hpp>

#include <cstdint>

namespace reshard::detail {

RESHARD_DECL std::vector<bad_chunk> bad_chunks(checkpoint const& source, int rank, int size) {
    std::vector<bad_chunk> all;
    chunk_reader reader(source, true);
    auto const files = united(source);
    auto const& tensors = source.metadata().tensors;
    auto const is_mine = [&](std::size_t tensor, checkpoint_shard const& shard) {
        return files ? files->ranks_of(source.metadata().files[shard.file].path).front() == rank
                     : tensor % static_cast<std::size_t>(size) == static_cast<std::size_t>(rank);
    };
    for (std::size_t t = 0; t < tensors.size(); ++t)
        for (std::uint32_t i = 0; i < tensors[t].shards.size(); ++i) {
            if (source.metadata().aliases.contains(tensors[t].key) ||
                !is_mine(t, tensors[t].shards[i]))
                continue;
            auto const bad = reader.find_bad({static_cast<std::uint32_t>(t), i});
            all.insert(all.end(), bad.begin(), bad.end());
        }
    return all;
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
