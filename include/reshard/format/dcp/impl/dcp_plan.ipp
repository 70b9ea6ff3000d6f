// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_IMPL_DCP_PLAN_IPP
#define RESHARD_FORMAT_DCP_IMPL_DCP_PLAN_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/dcp/dcp.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/fused_text.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/planned_files.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

inline constexpr std::string_view dcp_module = "torch.distributed.checkpoint.metadata";

/// The texts of a checkpoint of torch.distributed.checkpoint: everything except the elements.
class dcp_texts : public file_texts {
public:
    /// Lays out the files that ranks write.
    checkpoint_plan lay_out(layout const& target, file_choices const& choices) {
        objects_ = objects_beside(target, choices);
        planned_files files("torch_dcp", target);
        auto ranks = shards_by_writer(target, choices);
        if (ranks.empty())
            ranks.emplace(0, vector<file_shard>());
        for (auto const& [rank, shards] : ranks) {
            files.begin_file("__" + std::to_string(rank) + "_0.distcp", rank);
            std::uint64_t end = items_.empty() ? place_objects() : 0;
            auto& items = items_.emplace_back();
            for (file_shard const& shard : shards)
                end = place(shard, end, files, items);
            files.end_file(end);
        }
        metadata_ = files.metadata();
        metadata_.fused = choices.fused;
        for (checkpoint_tensor const& tensor : metadata_.tensors)
            check_offsets(tensor);
        return files.take(nullptr);
    }

    vector<placed_text> around(holder_t file, std::filesystem::path const&) const override {
        vector<placed_text> texts;
        if (file == 0)
            for (std::size_t i = 0; i < objects_.size(); ++i)
                texts.push_back({places_[i].begin, objects_[i].archive});
        for (auto const& [tensor, where] : items_[file]) {
            auto of_item = torch_file_of(tensor, where.begin).texts;
            std::ranges::move(of_item, std::back_inserter(texts));
        }
        return texts;
    }

    vector<std::pair<std::string, std::string>> others() const override {
        return {{std::string(dcp_metadata_name), metadata_text()}};
    }

private:
    struct item {
        torch_tensor tensor;
        byte_run where;
    };

    std::uint64_t place_objects() {
        std::uint64_t end = 0;
        for (saved_object const& object : objects_) {
            std::uint64_t const begin = round_up(end, 64);
            end = begin + object.archive.size();
            places_.push_back({begin, end});
        }
        return end;
    }

    static std::uint64_t round_up(std::uint64_t position, std::uint64_t step) {
        return (position + step - 1) / step * step;
    }

    /// Adds a shard after byte `end` of the last file, and returns its end.
    static std::uint64_t place(file_shard const& shard, std::uint64_t end, planned_files& files,
                               vector<item>& items) {
        check_box(shard, "torch_dcp");
        // Shards are found by their offsets. An empty shard may have the offset of another shard.
        if (element_count(index_vector(shard.region.shape)) == 0 &&
            element_count(index_vector(*shard.global_shape)) > 0)
            return end;
        torch_tensor const tensor = torch_tensor_of(shard);
        std::uint64_t const begin = round_up(end, torch_alignment(bytes_of(shard)));
        torch_file const file = torch_file_of(tensor, begin);
        files.add(shard, file.elements.front());
        items.push_back({tensor, {begin, file.end}});
        return file.end;
    }

    /// Refuses shards with equal offsets, because torch finds shards by their offsets and would
    /// confuse them.
    static void check_offsets(checkpoint_tensor const& tensor) {
        std::set<std::string> offsets;
        for (checkpoint_shard const& shard : tensor.shards)
            if (!offsets.insert(to_string(index_vector(shard.region.offset))).second)
                fail(errc::unsupported, "'", tensor.key, "': two different shards begin at ",
                     index_vector(shard.region.offset),
                     ", but torch finds a shard by its offset; give a layout without overlapping "
                     "shards");
    }

    std::string metadata_text() const {
        pickle_writer out;
        out.object(dcp_module, "Metadata", [&] {
            out.text("state_dict_metadata");
            out.dict([&] { put_tensors(out); });
            out.text("planner_data");
            out.dict([&] { put_paths(out); });
            out.text("storage_data");
            out.dict([&] { put_places(out); });
            put_fused(out, metadata_.fused);
        });
        return out.take();
    }

    static void put_size(pickle_writer& out, index_vector const& extents) {
        out.call("torch", "Size", [&] { out.integers(extents); });
    }

    void put_tensors(pickle_writer& out) const {
        for (saved_object const& object : objects_) {
            out.text(object.key);
            out.global(dcp_module, "BytesStorageMetadata");
            out.empty_tuple();
            out.make();
        }
        for (checkpoint_tensor const& tensor : metadata_.tensors) {
            out.text(tensor.key);
            out.object(dcp_module, "TensorStorageMetadata", [&] {
                out.text("properties");
                put_properties(out, tensor);
                out.text("size");
                put_size(out, tensor.shape);
                out.text("chunks");
                out.empty_list();
                out.begin();
                for (checkpoint_shard const& shard : tensor.shards)
                    put_chunk(out, shard.region);
                out.append_all();
            });
        }
    }

    static void put_chunk(pickle_writer& out, packed_box const& region) {
        out.object(dcp_module, "ChunkStorageMetadata", [&] {
            out.text("offsets");
            put_size(out, region.offset);
            out.text("sizes");
            put_size(out, region.shape);
        });
    }

    /// Writes the data type, the layout, whether the tensor needs a gradient, the order in memory,
    /// and whether it is pinned.
    static void put_properties(pickle_writer& out, checkpoint_tensor const& tensor) {
        out.global(dcp_module, "TensorProperties");
        out.empty_tuple();
        out.make();
        out.begin();
        out.global("torch", torch_name(tensor.dtype, tensor.key));
        out.call("torch.serialization", "_get_layout", [&] { out.text("torch.strided"); });
        out.boolean(false);
        out.call(dcp_module, "_MEM_FORMAT_ENCODING", [&] { out.integer(0); });
        out.boolean(false);
        out.tuple();
        out.set_state();
    }

    void put_paths(pickle_writer& out) const {
        auto const put = [&](std::string const& key) {
            out.text(key);
            out.begin();
            out.text(key);
            out.tuple();
        };
        for (saved_object const& object : objects_)
            put(object.key);
        for (checkpoint_tensor const& tensor : metadata_.tensors)
            put(tensor.key);
    }

    void put_places(pickle_writer& out) const {
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            put_index(out, objects_[i].key, nullptr, 0);
            put_place(out, 0, places_[i]);
        }
        vector<std::size_t> next(items_.size(), 0);
        // The items of a file are in the order of its shards, and the tensors of all files are in
        // the order of the metadata.
        for (checkpoint_tensor const& tensor : metadata_.tensors)
            for (std::size_t i = 0; i < tensor.shards.size(); ++i) {
                checkpoint_shard const& shard = tensor.shards[i];
                put_index(out, tensor.key, &shard.region.offset, i);
                put_place(out, shard.file, items_[shard.file][next[shard.file]++].where);
            }
    }

    static void put_index(pickle_writer& out, std::string const& key, packed_vector const* offset,
                          std::size_t number) {
        out.object(dcp_module, "MetadataIndex", [&] {
            out.text("fqn");
            out.text(key);
            out.text("offset");
            offset ? put_size(out, *offset) : out.none();
            out.text("index");
            offset ? out.integer(static_cast<index_t>(number)) : out.none();
        });
    }

    void put_place(pickle_writer& out, holder_t file, byte_run where) const {
        out.object("torch.distributed.checkpoint.filesystem", "_StorageInfo", [&] {
            out.text("relative_path");
            out.text(metadata_.files[file].path.string());
            out.text("offset");
            out.integer(static_cast<index_t>(where.begin));
            out.text("length");
            out.integer(static_cast<index_t>(where.size()));
        });
    }

    vector<saved_object> objects_;
    vector<byte_run> places_;    ///< the objects, in the first file
    vector<vector<item>> items_; ///< the items of each file, in the order of the tensors
    checkpoint_metadata metadata_;
};

RESHARD_DECL checkpoint_plan plan_dcp(layout const& target, file_choices const& choices) {
    auto const texts = std::make_shared<dcp_texts>();
    checkpoint_plan plan = texts->lay_out(target, choices);
    plan.texts = texts;
    return plan;
}

} // namespace reshard::detail

#endif
