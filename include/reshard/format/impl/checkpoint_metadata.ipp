// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_METADATA_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_METADATA_IPP

#include <reshard/format/checkpoint_metadata.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <utility>

namespace reshard {

namespace detail {

/// The number behind `shard-`, which is a rank's, in the names of files; nothing where one has none
/// or each file has its own.
inline std::vector<holder_t> ranks_of(std::vector<checkpoint_file> const& files) {
    constexpr std::string_view prefix = "shard-";
    std::vector<holder_t> ranks;
    for (checkpoint_file const& file : files) {
        std::string const name = file.path.filename().string();
        holder_t rank = 0;
        bool const is_numbered =
            name.starts_with(prefix) &&
            std::from_chars(name.data() + prefix.size(), name.data() + name.size(), rank).ec ==
                std::errc();
        if (!is_numbered)
            return {};
        ranks.push_back(rank > 0 ? rank - 1 : 0); // files count from 1
    }
    std::vector<holder_t> sorted = ranks;
    std::ranges::sort(sorted);
    bool const has_several = std::ranges::adjacent_find(sorted) != sorted.end();
    return has_several ? ranks : std::vector<holder_t>();
}

} // namespace detail

RESHARD_DECL layout layout_of(checkpoint_metadata const& checkpoint) {
    detail::layout_builder made(static_cast<holder_t>(checkpoint.files.size()));
    made.reserve(checkpoint.tensors.size());
    for (detail::checkpoint_tensor const& tensor : checkpoint.tensors) {
        detail::shard_table shards(tensor.shape.size());
        for (detail::checkpoint_shard const& shard : tensor.shards)
            shards.push_back(shard.file, shard.region, shard.flat);
        made.add(tensor.key, tensor.dtype, {tensor.shape, std::move(shards)});
    }
    layout all = std::move(made).take();
    all.fused = checkpoint.fused;
    all.ranks = detail::ranks_of(checkpoint.files);
    return all;
}

} // namespace reshard

#endif
