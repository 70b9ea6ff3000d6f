// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_MEGATRON_IMPL_TORCH_DIST_IPP
#define RESHARD_FORMAT_MEGATRON_IMPL_TORCH_DIST_IPP

#include <reshard/format/megatron/torch_dist.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/dcp/dcp.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/torch/torch_save.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace reshard::detail {

/// Refuses what is not written as `open_dcp` reads it.
inline void check_backend(file_store const& files, std::filesystem::path const& metadata) {
    std::string const name = metadata.string();
    auto const document = parse_json(read_text_file(files, metadata), name, errc::corrupt_file);
    json_cursor const root(document, name, errc::corrupt_file);
    std::string const backend = root.at("sharded_backend").text();
    if (backend != "torch_dist")
        fail(errc::unsupported, name, ": was written as '", backend,
             "', and only 'torch_dist' is read; convert it in Megatron-Core first");
    index_t const version = root.at("sharded_backend_version").count();
    if (version != 1)
        fail(errc::unsupported, name, ": is of version ", version, " of torch_dist, and 1 is read");
}

/// Adds tensors and objects of another checkpoint, whose store shows the files of both.
inline void append(opened_checkpoint& all, opened_checkpoint more) {
    checkpoint_metadata& first = all.metadata;
    auto const before = static_cast<holder_t>(first.files.size());
    for (checkpoint_tensor& tensor : more.metadata.tensors) {
        for (checkpoint_shard& shard : tensor.shards)
            shard.file += before;
        first.tensors.push_back(std::move(tensor));
    }
    for (checkpoint_object& object : more.metadata.objects) {
        object.file += before;
        first.objects.push_back(std::move(object));
    }
    std::ranges::move(more.metadata.files, std::back_inserter(first.files));
    first.aliases.merge(more.metadata.aliases);
    sort_by_key(first.tensors);
    auto const twice = std::ranges::adjacent_find(first.tensors, {}, &checkpoint_tensor::key);
    if (twice != first.tensors.end())
        fail(errc::corrupt_file, first.path.string(), ": tensor '", twice->key,
             "' is sharded, and common to all ranks as well");
    all.files = std::move(more.files);
}

RESHARD_DECL opened_checkpoint open_torch_dist(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& metadata) {
    check_backend(*files, metadata);
    std::filesystem::path const directory = metadata.parent_path();
    opened_checkpoint all = open_dcp(std::move(files), directory / dcp_metadata_name);
    all.metadata.format = "megatron_torch_dist";
    std::filesystem::path const common = directory / "common.pt";
    if (all.files->find(common) == file_store::kind::file)
        append(all, open_torch_file(all.files, common));
    return all;
}

} // namespace reshard::detail

#endif
