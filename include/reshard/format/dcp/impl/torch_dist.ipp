// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_IMPL_TORCH_DIST_IPP
#define RESHARD_FORMAT_DCP_IMPL_TORCH_DIST_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/dcp/dcp.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/torch/torch_save.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace reshard::detail {

/// The version of the checkpoint. Refuses a version that `open_dcp` cannot read.
inline std::string checked_version(file_store const& files, std::filesystem::path const& metadata) {
    std::string const name = metadata.string();
    auto const document = parse_json(read_text_file(files, metadata), name, errc::corrupt_file);
    json_cursor const root(document, name, errc::corrupt_file);
    std::string const backend = root.at("sharded_backend").text();
    if (backend != "torch_dist")
        fail(errc::unsupported, name, ": was written as '", backend,
             "', but only 'torch_dist' is supported; convert it with Megatron-Core first");
    index_t const version = root.at("sharded_backend_version").count();
    if (version != 1)
        fail(errc::unsupported, name, ": has version ", version,
             " of torch_dist; only version 1 is supported");
    return std::to_string(version);
}

/// Adds the tensors and objects of `more`, whose store shows the files of both checkpoints.
inline void append(opened_checkpoint& checkpoint, opened_checkpoint more) {
    checkpoint_metadata& first = checkpoint.metadata;
    auto const before = static_cast<holder_t>(first.files.size());
    for (checkpoint_tensor& tensor : more.metadata.tensors) {
        for (checkpoint_shard& shard : tensor.shards)
            shard.file += before;
        first.tensors.push_back(std::move(tensor));
    }
    for (checkpoint_object& object : more.metadata.objects) {
        object.file += before;
        object.is_common = true;
        bool const stands_for_tensor = // a sharded tensor
            object.is_none && std::ranges::find(first.tensors, object.key,
                                                &checkpoint_tensor::key) != first.tensors.end();
        if (!stands_for_tensor)
            first.objects.push_back(std::move(object));
    }
    std::ranges::move(more.metadata.files, std::back_inserter(first.files));
    std::ranges::move(more.metadata.warnings, std::back_inserter(first.warnings));
    first.aliases.merge(more.metadata.aliases);
    sort_by_key(first.tensors);
    auto const twice = std::ranges::adjacent_find(first.tensors, {}, &checkpoint_tensor::key);
    if (twice != first.tensors.end())
        fail(errc::corrupt_file, first.path.string(), ": tensor '", twice->key,
             "' is both sharded and common to all ranks");
    checkpoint.files = std::move(more.files);
    checkpoint.read_objects = [sharded = std::move(checkpoint.read_objects),
                               common = std::move(more.read_objects)](key_set const& keys) {
        auto objects = sharded(keys);
        for (saved_object& object : common(keys)) {
            object.is_common = true;
            objects.push_back(std::move(object));
        }
        return objects;
    };
}

/// Opens a file of torch.save. If an object is read, `read_objects` also returns the whole file as
/// an object.
inline opened_checkpoint with_whole(opened_checkpoint opened,
                                    std::shared_ptr<file_store const> files,
                                    std::filesystem::path const& path) {
    opened.read_objects = [each = std::move(opened.read_objects), files = std::move(files),
                           path](key_set const& keys) {
        auto objects = each(keys);
        if (!objects.empty())
            objects.push_back(
                {.key = {}, .archive = torch_file_without_tensors(*files, path), .is_whole = true});
        return objects;
    };
    return opened;
}

/// True for newer versions, which keep the common state of all ranks with the other objects.
inline bool has_common_state(checkpoint_metadata const& metadata) {
    return std::ranges::any_of(metadata.objects, [](checkpoint_object const& object) {
        return object.key.starts_with("common_state");
    });
}

RESHARD_DECL opened_checkpoint open_torch_dist(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& metadata) {
    std::string const version = checked_version(*files, metadata);
    std::filesystem::path const directory = metadata.parent_path();
    if (files->find(directory / dcp_metadata_name) != file_store::kind::file)
        fail(errc::corrupt_file, directory.string(), ": this save of Megatron-Core lost ",
             dcp_metadata_name, ", which says where its tensors are; give another checkpoint");
    std::shared_ptr<file_store const> const below = files;
    opened_checkpoint checkpoint = open_dcp(std::move(files), directory / dcp_metadata_name);
    checkpoint.metadata.format = "megatron_torch_dist";
    checkpoint.metadata.version = version;
    checkpoint.metadata.indexes.push_back(metadata.filename().string());
    checkpoint.metadata.indexes.emplace_back("integrity.json");
    std::filesystem::path const common = directory / megatron_common_name;
    if (checkpoint.files->find(common) == file_store::kind::file)
        append(checkpoint, with_whole(open_torch_file(checkpoint.files, common), below, common));
    else if (!has_common_state(checkpoint.metadata))
        checkpoint.metadata.warnings.push_back(
            directory.string() + ": " + std::string(megatron_common_name) +
            " is missing; it has the values that all ranks share (args, iteration): was it lost, "
            "or was the save not finished?");
    return checkpoint;
}

/// The files that Megatron-Core adds to the files of torch.distributed.checkpoint.
class torch_dist_texts : public file_texts {
public:
    torch_dist_texts(std::shared_ptr<file_texts const> sharded, std::string common)
        : sharded_(std::move(sharded)), common_(std::move(common)) {}

    vector<placed_text> around(holder_t file, std::filesystem::path const& written) const override {
        return sharded_->around(file, written);
    }

    /// `metadata.json` is last, as Megatron-Core writes it.
    vector<std::pair<std::string, std::string>> others() const override {
        auto others = sharded_->others();
        others.emplace_back(megatron_common_name, common_);
        others.emplace_back(megatron_metadata_name,
                            R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1, )"
                            R"("common_backend": "torch", "common_backend_version": 1})");
        return others;
    }

private:
    std::shared_ptr<file_texts const> sharded_;
    std::string common_; ///< the file of the common state of ranks
};

/// The common state of ranks as a file; empty if the objects do not have it.
inline std::string common_file(vector<saved_object> const& objects) {
    for (saved_object const& object : objects)
        if (object.is_whole)
            return object.archive;
    pickle_writer nothing;
    nothing.empty_dict();
    return torch_file_of(nothing.take());
}

RESHARD_DECL checkpoint_plan plan_torch_dist(layout const& target, file_choices const& choices) {
    file_choices sharded = choices;
    erase_if(sharded.objects, [](saved_object const& object) { return object.is_common; });
    sharded.fused.clear(); // Megatron-Core saves gate and up separately, in any number of shards
    checkpoint_plan plan = plan_dcp(target, sharded);
    plan.metadata.format = "megatron_torch_dist";
    plan.texts = std::make_shared<torch_dist_texts>(plan.texts, common_file(choices.objects));
    return plan;
}

} // namespace reshard::detail

#endif
