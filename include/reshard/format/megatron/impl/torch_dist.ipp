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

/// The version, where it is written as `open_dcp` reads it.
inline std::string checked_version(file_store const& files, std::filesystem::path const& metadata) {
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
    return std::to_string(version);
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
    // None in the place of a tensor that is sharded, as we write it.
    std::erase_if(first.objects, [&](checkpoint_object const& object) {
        return object.file >= before && std::ranges::any_of(first.tensors, [&](auto const& tensor) {
                   return tensor.key == object.key;
               });
    });
    std::ranges::move(more.metadata.files, std::back_inserter(first.files));
    first.aliases.merge(more.metadata.aliases);
    sort_by_key(first.tensors);
    auto const twice = std::ranges::adjacent_find(first.tensors, {}, &checkpoint_tensor::key);
    if (twice != first.tensors.end())
        fail(errc::corrupt_file, first.path.string(), ": tensor '", twice->key,
             "' is sharded, and common to all ranks as well");
    all.files = std::move(more.files);
    all.read_objects = [sharded = std::move(all.read_objects),
                        common = std::move(more.read_objects)] {
        auto objects = sharded();
        for (saved_object& one : common()) {
            one.is_common = true;
            objects.push_back(std::move(one));
        }
        return objects;
    };
}

/// Of a file of torch.save, with all that it has as one more object.
inline opened_checkpoint with_whole(opened_checkpoint opened,
                                    std::shared_ptr<file_store const> files,
                                    std::filesystem::path const& path) {
    opened.read_objects = [each = std::move(opened.read_objects), files = std::move(files), path] {
        auto objects = each();
        objects.push_back({"", torch_file_without_tensors(*files, path)});
        return objects;
    };
    return opened;
}

RESHARD_DECL opened_checkpoint open_torch_dist(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& metadata) {
    std::string const version = checked_version(*files, metadata);
    std::filesystem::path const directory = metadata.parent_path();
    std::shared_ptr<file_store const> const below = files;
    opened_checkpoint all = open_dcp(std::move(files), directory / dcp_metadata_name);
    all.metadata.format = "megatron_torch_dist";
    all.metadata.version = version;
    all.metadata.indexes.push_back(metadata.filename().string());
    all.metadata.indexes.emplace_back("integrity.json");
    std::filesystem::path const common = directory / megatron_common_name;
    if (all.files->find(common) == file_store::kind::file)
        append(all, with_whole(open_torch_file(all.files, common), below, common));
    return all;
}

} // namespace reshard::detail

#endif
