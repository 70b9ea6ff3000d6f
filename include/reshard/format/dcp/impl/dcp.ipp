// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_IMPL_DCP_IPP
#define RESHARD_FORMAT_DCP_IMPL_DCP_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/dcp/dcp.hpp>

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/format/dcp/impl/dcp_files.ipp>
#include <reshard/format/dcp/impl/dcp_items.ipp>
#include <reshard/format/fused_text.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// The classes and functions that `.metadata` may use.
inline constexpr std::string_view dcp_names[] = {
    "torch.distributed.checkpoint.metadata.*",
    "torch.distributed.checkpoint.filesystem._StorageInfo",
    "torch.distributed.checkpoint.planner.*",
    "torch.distributed._shard.sharded_tensor.metadata.*",
    "torch.*",
    "torch.serialization._get_layout",
    "pathlib.PosixPath",
    "pathlib.PurePosixPath",
    "collections.OrderedDict",
};

/// Converts `.metadata` to our metadata.
class dcp_reader {
public:
    dcp_reader(std::shared_ptr<file_store const> files, std::filesystem::path const& path)
        : files_(std::move(files)), directory_(path.parent_path()) {
        auto const file = files_->open(path);
        values_.emplace(*file, path.string(), byte_run{0, file->facts().bytes}, dcp_names);
        result_.format = "torch_dcp";
        result_.path = directory_;
        result_.has_global_order = true;
        result_.indexes = {path.filename().string()};
    }

    opened_checkpoint read() {
        pickle_value const root = values_->root();
        pickle_value const places = values_->member(root, "storage_data", "the metadata");
        unplaced_shards_ = values_->pairs(places, "storage_data").size();
        read_tensors(values_->member(root, "state_dict_metadata", "the metadata"));
        check_planned(root);
        read_places(places);
        check_all_placed();
        read_flattened(root);
        read_version(root);
        result_.fused = fused_in(*values_, root);
        find_opaque(*files_, result_);
        auto files = std::make_shared<row_major_files const>(files_, shown_files());
        files->check_empty_shards();
        sort_tensors();
        auto read_objects = [files = files_, names = result_.files,
                             objects = result_.objects](key_set const& keys) {
            return objects_of_items(*files, names, objects, keys);
        };
        return {std::move(result_), std::move(files), std::move(read_objects)};
    }

private:
    using kind = pickle_value::kind;

    [[noreturn]] void refuse(auto const&... text) const {
        fail(errc::corrupt_file, values_->file(), ": ", text...);
    }

    void read_tensors(pickle_value dict) {
        pickle_pairs const pairs = values_->pairs(dict, "state_dict_metadata");
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            std::string_view const key = values_->text(pairs[i].key, "the name of a tensor");
            std::uint32_t const number = number_of(key);
            if (number < entries_.size())
                refuse("'", key, "' occurs twice in state_dict_metadata");
            if (values_->is_made_by(pairs[i].value,
                                    "torch.distributed.checkpoint.metadata.BytesStorageMetadata")) {
                entries_.push_back({true, static_cast<std::uint32_t>(result_.objects.size())});
                result_.objects.push_back({std::string(key), 0, {}});
            } else {
                entries_.push_back({false, static_cast<std::uint32_t>(result_.tensors.size())});
                result_.tensors.emplace_back().key = std::string(key);
                try_tensor(result_.tensors.back(), pairs[i].value);
            }
            names_.emplace_back(key);
        }
    }

    /// Warns about names that are in the plan of the save, but not in `state_dict_metadata`.
    void check_planned(pickle_value root) {
        auto const planned = values_->find_member(root, "planner_data", "the metadata");
        if (!planned || planned->type != kind::dict)
            return;
        vector<std::string_view> lost;
        pickle_pairs const pairs = values_->pairs(*planned, "planner_data");
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            auto const key =
                pairs[i].key.type == kind::text ? values_->text(pairs[i].key, "planner_data") : "";
            if (!key.empty() && !keys_.find(key, [&](std::uint32_t n) { return names_[n]; }))
                lost.push_back(key);
        }
        if (!lost.empty())
            result_.warnings.push_back(
                words(values_->file(), ": planner_data lists ",
                      first_and_more(words("'", lost.front(), "'"), lost.size()),
                      ", but state_dict_metadata does not: the save is incomplete"));
    }

    /// Reads the flattened tensors of Megatron-Core before 0.14, whose shapes are in `mcore_data`.
    /// In `state_dict_metadata`, such a tensor has another axis, for the elements of a block, and
    /// its other axes count blocks.
    void read_flattened(pickle_value root) {
        auto const more = values_->find_member(root, "mcore_data", "the metadata");
        if (!more || more->type != kind::dict)
            return;
        pickle_pairs const pairs = values_->pairs(*more, "mcore_data");
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            std::string_view const key = values_->text(pairs[i].key, "mcore_data");
            auto const shape =
                values_->find(pairs[i].value, "nd_reformulated_orig_global_shape", "mcore_data");
            auto const match = keys_.find(key, [&](std::uint32_t n) { return names_[n]; });
            if (!shape || shape->type == kind::none || !match || entries_[*match].is_object)
                continue;
            checkpoint_tensor& tensor = result_.tensors[entries_[*match].number];
            if (!tensor.is_read())
                continue;
            std::string const noun = "tensor '" + tensor.key + "'";
            make_flat(tensor, torch_extents(*values_, *shape, noun), values_->file() + ": " + noun);
        }
    }

    void read_version(pickle_value root) {
        auto const version = values_->find_member(root, "version", "the metadata");
        if (version && version->type == kind::text)
            result_.version = values_->text(*version, "the version");
        std::set<std::string> ranks; // rank R writes __R_0.distcp
        for (checkpoint_file const& file : result_.files)
            if (std::string const name = file.path.filename().string(); name.starts_with("__"))
                ranks.insert(name.substr(2, name.find('_', 2) - 2));
        result_.writers = static_cast<holder_t>(ranks.size());
    }

    /// The index in the names of `state_dict_metadata`, or the number of names.
    std::uint32_t number_of(std::string_view key) {
        return keys_.find_or_append(
            key, [&](std::uint32_t i) { return names_[i]; },
            [&] { return static_cast<std::uint32_t>(names_.size()); });
    }

    void set_unread(checkpoint_tensor& tensor, std::string reason) {
        tensor.unread = std::move(reason);
        tensor.dtype = data_type::u8;
        tensor.shards.clear();
    }

    /// Reads a tensor, or records why it cannot be read.
    void try_tensor(checkpoint_tensor& tensor, pickle_value value) {
        try {
            read_tensor(tensor, value);
        } catch (error const& problem) {
            if (problem.code() != errc::unsupported && problem.code() != errc::limit_exceeded)
                throw;
            set_unread(tensor, text_behind(problem.what(), "tensor '" + tensor.key + "'"));
        }
    }

    void read_tensor(checkpoint_tensor& tensor, pickle_value value) {
        std::string const noun = "tensor '" + tensor.key + "'";
        if (value.type == kind::object &&
            !values_->is_made_by(value,
                                 "torch.distributed.checkpoint.metadata.TensorStorageMetadata"))
            fail(errc::unsupported, values_->file(), ": ", noun, ": its metadata is ",
                 values_->described(value), ", which is not supported");
        tensor.dtype = dtype_in(*values_, values_->member(value, "properties", noun), noun);
        tensor.shape = torch_extents(*values_, values_->member(value, "size", noun), noun);
        for (pickle_value const chunk :
             values_->elements(values_->member(value, "chunks", noun), noun + ": chunks")) {
            checkpoint_shard shard;
            shard.file = unplaced;
            shard.region = {torch_extents(*values_, values_->member(chunk, "offsets", noun), noun),
                            torch_extents(*values_, values_->member(chunk, "sizes", noun), noun)};
            check_in_tensor(tensor.shape, shard.region, values_->file() + ": " + noun);
            if (unplaced_shards_-- == 0) // checked before memory is allocated for all shards
                refuse(noun, ": storage_data has no entry left for the shard at ",
                       index_vector(shard.region.offset));
            tensor.shards.push_back(std::move(shard));
        }
    }

    void read_places(pickle_value dict) {
        pickle_pairs const pairs = values_->pairs(dict, "storage_data");
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            pickle_value const index = pairs[i].key;
            std::string_view const key =
                values_->text(values_->member(index, "fqn", "a key of storage_data"), "fqn");
            auto const match = keys_.find(key, [&](std::uint32_t n) { return names_[n]; });
            if (!match)
                refuse("'", key, "' is in storage_data but not in state_dict_metadata");
            place(entries_[*match], index, pairs[i].value);
        }
    }

    /// The kind of the value with a name in `state_dict_metadata`.
    struct entry {
        bool is_object = false;
        std::uint32_t number = 0; ///< index in the objects, or in the tensors
    };

    void place(entry const& item, pickle_value index, pickle_value info) {
        std::string const named = item.is_object
                                      ? "object '" + result_.objects[item.number].key + "'"
                                      : "tensor '" + result_.tensors[item.number].key + "'";
        if (is_transformed(info, named))
            set_transformed(item);
        std::size_t const file = item_files_.number_of(
            values_->text(values_->member(info, "relative_path", named), named), named);
        if (file == items_.size())
            items_.emplace_back();
        auto const begin = count_in(info, "offset", named);
        auto const length = count_in(info, "length", named);
        if (begin > std::numeric_limits<std::uint64_t>::max() - length)
            refuse(named, ": ", length, " bytes at offset ", begin, " exceed 64 bits");
        byte_run const bytes{begin, begin + length};
        item_files_.check_inside(file, bytes, named);
        if (item.is_object)
            return place_object(result_.objects[item.number], file, bytes);
        if (!result_.tensors[item.number].is_read())
            return;
        std::uint32_t const chunk = chunk_of(item.number, index, named);
        checkpoint_shard& shard = result_.tensors[item.number].shards[chunk];
        if (shard.file != unplaced)
            refuse(named, ": the shard at ", shard.region.offset, " occurs twice in storage_data");
        shard.file = static_cast<holder_t>(file);
        items_[file].push_back({item.number, chunk, bytes});
    }

    void place_object(checkpoint_object& object, std::size_t file, byte_run bytes) const {
        if (object.bytes.size() > 0)
            refuse("object '", object.key, "' occurs twice in storage_data");
        if (bytes.size() == 0)
            refuse("object '", object.key, "' has no bytes in storage_data");
        object.file = static_cast<holder_t>(file);
        object.bytes = bytes;
    }

    bool is_transformed(pickle_value info, std::string const& named) const {
        auto const transforms = values_->find_member(info, "transform_descriptors", named);
        return transforms && transforms->type != kind::none &&
               !(transforms->type == kind::list && values_->elements(*transforms, named).empty());
    }

    void set_transformed(entry const& item) {
        std::string const reason =
            "was transformed by an extension, such as compression; this is not supported";
        if (item.is_object)
            result_.objects[item.number].opaque = reason;
        else
            set_unread(result_.tensors[item.number], "it " + reason);
    }

    std::uint64_t count_in(pickle_value info, char const* name, std::string const& noun) const {
        index_t const count =
            values_->integer(values_->member(info, name, noun), noun + ": " + name);
        if (count < 0)
            refuse(noun, ": ", name, " is ", count);
        return static_cast<std::uint64_t>(count);
    }

    /// The index of a tensor's shard, by the offset in `index`. The number in `index` is only tried
    /// first.
    std::uint32_t chunk_of(std::uint32_t tensor, pickle_value index, std::string const& noun) {
        auto const& shards = result_.tensors[tensor].shards;
        auto const offset = values_->member(index, "offset", noun);
        index_vector const at = offset.type == kind::none
                                    ? index_vector::filled(result_.tensors[tensor].shape.size(), 0)
                                    : torch_extents(*values_, offset, noun);
        auto const hint = values_->find_member(index, "index", noun);
        if (hint && hint->type == kind::integer && hint->position < shards.size() &&
            shards[hint->position].region.offset == at)
            return static_cast<std::uint32_t>(hint->position);
        auto const match = std::find_if(shards.begin(), shards.end(), [&](auto const& shard) {
            return shard.region.offset == at;
        });
        if (match == shards.end())
            refuse(noun, ": storage_data has a shard at ", at,
                   ", but state_dict_metadata does not");
        return static_cast<std::uint32_t>(match - shards.begin());
    }

    void check_all_placed() const {
        for (checkpoint_tensor const& tensor : result_.tensors)
            for (checkpoint_shard const& shard : tensor.shards)
                if (shard.file == unplaced)
                    refuse("tensor '", tensor.key, "': the shard at ", shard.region.offset,
                           " is missing from storage_data");
        for (checkpoint_object const& object : result_.objects)
            if (object.bytes.size() == 0)
                refuse("object '", object.key, "' is missing from storage_data");
    }

    /// Gives each shard its position in a shown file, which has only shards.
    std::map<std::filesystem::path, shown_file> shown_files() {
        std::map<std::filesystem::path, shown_file> files;
        for (std::size_t number = 0; number < items_.size(); ++number) {
            auto& items = items_[number];
            erase_if(items,
                     [&](dcp_item const& item) { return !result_.tensors[item.tensor].is_read(); });
            std::stable_sort(items.begin(), items.end(), [](dcp_item const& a, dcp_item const& b) {
                return a.bytes.begin < b.bytes.begin;
            });
            checkpoint_file& file = result_.files[number];
            dcp_file real;
            real.name = file.path.string();
            shown_file shown;
            for (dcp_item const& item : items)
                show(item, shown, real);
            file.bytes = shown.bytes;
            shown.find = [real = std::move(real)](file_store::file const& opened,
                                                  shown_shard const& shard, std::size_t which) {
                return real.find(opened, shard, which);
            };
            files.emplace(file.path, std::move(shown));
        }
        return files;
    }

    /// Shows an item in a file. An item that is exactly as long as its elements is in a safetensors
    /// file with other items.
    void show(dcp_item const& item, shown_file& shown, dcp_file& real) {
        checkpoint_tensor& tensor = result_.tensors[item.tensor];
        checkpoint_shard& shard = tensor.shards[item.chunk];
        index_vector const shape = stored_shape(shard);
        std::uint64_t const bytes = byte_count_of(shape, tensor.dtype, [&] {
            return values_->file() + ": tensor '" + tensor.key + "': ";
        });
        if (item.bytes.size() < bytes)
            refuse("tensor '", tensor.key, "': the shard ", shape, " of ", tensor.dtype, " at ",
                   index_vector(shard.region.offset), " has ", bytes, " bytes, but its item in ",
                   real.name, " has ", item.bytes.size());
        if (item.bytes.size() == bytes)
            real.keys.emplace(real.items.size(), tensor.key);
        real.items.push_back(item.bytes);
        shown.shards.push_back({shown.bytes, tensor.dtype, shape});
        shard.begin = shown.bytes;
        shown.bytes += bytes;
        shard.end = shown.bytes;
    }

    /// Sorts the tensors by key, and the shards of each tensor by file.
    void sort_tensors() {
        for (checkpoint_tensor& tensor : result_.tensors)
            std::stable_sort(tensor.shards.begin(), tensor.shards.end(),
                             [](auto const& a, auto const& b) { return a.file < b.file; });
        sort_by_key(result_.tensors);
    }

    static constexpr holder_t unplaced = static_cast<holder_t>(-1);

    std::shared_ptr<file_store const> files_;
    std::filesystem::path directory_;
    std::optional<pickle> values_;
    checkpoint_metadata result_;
    dcp_files item_files_{*files_, directory_, result_.files};
    vector<std::string_view> names_;  ///< all names that state_dict_metadata lists
    vector<entry> entries_;           ///< one per name
    std::size_t unplaced_shards_ = 0; ///< entries of `storage_data` without a shard so far
    key_index keys_;
    vector<vector<dcp_item>> items_; ///< the items of each file
};

RESHARD_DECL opened_checkpoint open_dcp(std::shared_ptr<file_store const> files,
                                        std::filesystem::path const& metadata) {
    return dcp_reader(std::move(files), metadata).read();
}

} // namespace reshard::detail

#endif
