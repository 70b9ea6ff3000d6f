// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PADDLE_IMPL_PADDLE_IPP
#define RESHARD_FORMAT_PADDLE_IMPL_PADDLE_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/paddle/paddle.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/fused_text.hpp>
#include <reshard/format/numpy/pickled_arrays.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// The classes and functions that files of Paddle may use: Paddle's metadata, and NumPy arrays.
inline constexpr std::string_view paddle_names[] = {
    "paddle.distributed.flex_checkpoint.dcp.metadata.*",
    "paddle.distributed.checkpoint.metadata.*",
    "numpy._core.multiarray._reconstruct",
    "numpy.core.multiarray._reconstruct",
    "numpy._core.multiarray.scalar",
    "numpy.core.multiarray.scalar",
    "numpy._core.numeric._frombuffer",
    "numpy.core.numeric._frombuffer",
    "numpy.ndarray",
    "numpy.dtype",
    "_codecs.encode",
    "builtins.tuple",
    "__builtin__.tuple",
    "collections.OrderedDict",
};

/// The tensors of a file, and their positions once the file is read.
struct paddle_file {
    std::string name;
    std::uint64_t bytes = 0;
    vector<std::string> keys; ///< the key of each shard
    std::once_flag is_read;
    std::map<std::string, file_tensor> there;

    strided_bytes find(file_store::file const& file, shown_shard const& expected,
                       std::size_t number);

private:
    void read(file_store::file const& file);
    void read_pickle(file_store::file const& file);
    void read_safetensors(file_store::file const& file);
};

inline void paddle_file::read(file_store::file const& file) {
    if (name.ends_with(".safetensors"))
        read_safetensors(file);
    else
        read_pickle(file);
    std::set<std::string_view> const listed(keys.begin(), keys.end());
    for (auto const& [key, tensor] : there)
        if (!listed.contains(key))
            fail(errc::corrupt_file, name, ": tensor '", key,
                 "' is in the file, but the metadata does not list it; is the metadata damaged?");
}

inline void paddle_file::read_pickle(file_store::file const& file) {
    pickle const values(file, name, {0, file.facts().bytes}, paddle_names);
    pickled_arrays const arrays(values);
    pickle_pairs const pairs = values.pairs(values.root(), "the file");
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        std::string key(values.text(pairs[i].key, "a name"));
        if (arrays.is_array(pairs[i].value)) {
            file_tensor tensor = arrays.array(pairs[i].value, "tensor '" + key + "'");
            there.insert_or_assign(std::move(key), std::move(tensor));
        }
    }
}

inline void paddle_file::read_safetensors(file_store::file const& file) {
    // `open_file` owns its file, so it gets a range of the file.
    open_file opened{std::make_unique<file_range>(file, byte_run{0, file.facts().bytes}),
                     file.facts().bytes};
    safetensors_header const header = read_safetensors_header(opened, name, {});
    for (safetensors_entry const& entry : header.tensors) {
        file_shard const shard = whole_file_shard(entry, header.data_offset, name);
        index_vector const shape = shard.region.shape;
        there.emplace(shard.key,
                      file_tensor{shard.dtype, shape, {shard.begin, row_major_strides(shape)}});
    }
}

inline strided_bytes paddle_file::find(file_store::file const& file, shown_shard const& expected,
                                       std::size_t number) {
    std::call_once(is_read, [&] { read(file); });
    auto const match = there.find(keys[number]);
    if (match == there.end())
        fail(errc::corrupt_file, name, ": tensor '", keys[number], "' is missing");
    if (match->second.dtype != expected.dtype ||
        match->second.shape != index_vector(expected.shape))
        fail(errc::corrupt_file, name, ": tensor '", keys[number], "' is ", match->second.dtype,
             " ", match->second.shape, ", but the metadata says ", expected.dtype, " ",
             index_vector(expected.shape));
    return match->second.elements;
}

/// Converts the metadata of a Flex Checkpoint to our metadata.
class paddle_reader {
public:
    paddle_reader(std::shared_ptr<file_store const> files, std::filesystem::path const& path)
        : files_(std::move(files)), directory_(path.parent_path()) {
        auto const file = files_->open(path);
        values_.emplace(*file, path.string(), byte_run{0, file->facts().bytes}, paddle_names);
        result_.format = "paddle_flex";
        result_.indexes = {path.filename().string()};
        result_.path = directory_;
    }

    opened_checkpoint read() {
        read_tensors(values_->member(values_->root(), "state_dict_metadata", "the metadata"));
        read_places(values_->member(values_->root(), "storage_metadata", "the metadata"));
        result_.fused = fused_in(*values_, values_->root());
        for (checkpoint_tensor const& tensor : result_.tensors)
            if (tensor.shards.empty())
                refuse("tensor '", tensor.key, "' is missing from storage_metadata");
        auto files = std::make_shared<row_major_files const>(files_, shown_files());
        files->check_empty_shards();
        sort_by_key(result_.tensors);
        result_.writers = static_cast<holder_t>(result_.files.size()); // each rank writes a file
        return {std::move(result_), std::move(files)};
    }

private:
    template <class... Words>
    [[noreturn]] void refuse(Words const&... text) const {
        fail(errc::corrupt_file, values_->file(), ": ", text...);
    }

    std::optional<flat_range> flat_in(pickle_value of, std::string const& noun) const {
        auto const range = values_->find_member(of, "flattened_range", noun);
        if (!range || range->type == pickle_value::kind::none)
            return std::nullopt;
        index_vector const ends = torch_extents(*values_, *range, noun + ": flattened_range");
        if (ends.size() != 2 || ends[0] > ends[1])
            refuse(noun, ": flattened_range ", ends, " is not a range");
        return flat_range{ends[0], ends[1]};
    }

    index_vector extents_in(pickle_value of, char const* name, std::string const& noun) const {
        return torch_extents(*values_, values_->member(of, name, noun), noun + ": " + name);
    }

    void read_tensors(pickle_value dict) {
        pickle_pairs const pairs = values_->pairs(dict, "state_dict_metadata");
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            std::string key(values_->text(pairs[i].key, "the name of a tensor"));
            std::string const noun = "tensor '" + key + "'";
            auto const boxes = values_->elements(pairs[i].value, noun);
            if (!numbers_.emplace(key, result_.tensors.size()).second)
                refuse(noun, " occurs twice");
            checkpoint_tensor& tensor = result_.tensors.emplace_back();
            tensor.key = std::move(key);
            for (pickle_value const& value : boxes)
                read_box(tensor, value, &value == &boxes.front(), noun);
        }
    }

    void read_box(checkpoint_tensor& tensor, pickle_value value, bool is_first,
                  std::string const& noun) {
        std::string const type(values_->text(values_->member(value, "dtype", noun), noun));
        auto const dtype = torch_data_type(type);
        if (!dtype)
            fail(errc::unsupported, values_->file(), ": ", noun, ": elements of type ", type,
                 " are not supported");
        box const region{extents_in(value, "global_offset", noun),
                         extents_in(value, "local_shape", noun)};
        auto const global = values_->find_member(value, "global_shape", noun);
        index_vector shape = tensor.shape;
        if (global && global->type != pickle_value::kind::none)
            shape = torch_extents(*values_, *global, noun);
        else if (is_first)
            shape = region.shape;
        if (region.offset.size() != shape.size() || region.shape.size() != shape.size())
            refuse(noun, ": a shard has ", counted(region.shape.size(), "axis"), " and the offset ",
                   region.offset, ", but the number of axes of its tensor is ", shape.size());
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if (region.shape[axis] > std::numeric_limits<index_t>::max() - region.offset[axis])
                refuse(noun, ": axis ", axis, ": extent ", region.shape[axis], " at offset ",
                       region.offset[axis], " exceeds 64 bits");
            if (!global)
                shape[axis] = std::max(shape[axis], region.end(axis));
            if (region.end(axis) > shape[axis])
                refuse(noun, ": axis ", axis, ": a shard ends at ", region.end(axis),
                       ", beyond the extent ", shape[axis]);
        }
        if (!is_first && (tensor.dtype != *dtype || (global && tensor.shape != shape)))
            refuse(noun, ": one shard is ", tensor.dtype, " ", index_vector(tensor.shape),
                   ", but another is ", *dtype, " ", shape);
        tensor.dtype = *dtype;
        tensor.shape = shape;
        // In the pickle, each box is a separate object of many bytes.
        constexpr std::uint64_t few = 1 << 16, least_bytes = 24;
        if (++box_count_ > few + values_->bytes_read() / least_bytes)
            fail(errc::limit_exceeded, values_->file(), ": ", noun, " is shard ", box_count_,
                 ", too many for metadata of ", values_->bytes_read(), " bytes");
        boxes_[tensor.key].push_back({region, flat_in(value, noun)});
    }

    /// A shard that state_dict_metadata lists.
    struct listed_box {
        box region;
        std::optional<flat_range> flat;
    };

    void read_places(pickle_value dict) {
        pickle_pairs const pairs = values_->pairs(dict, "storage_metadata");
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            pickle_value const index = pairs[i].key;
            std::string const key(
                values_->text(values_->member(index, "tensor_key", "a place"), "tensor_key"));
            std::string const noun = "tensor '" + key + "'";
            auto const number = numbers_.find(key);
            if (number == numbers_.end())
                refuse(noun, " is in storage_metadata but not in state_dict_metadata");
            listed_box const& listed = find_box(key, index, noun);
            place(result_.tensors[number->second], listed,
                  file_of(values_->text(pairs[i].value, noun), noun), noun);
        }
    }

    listed_box const& find_box(std::string const& key, pickle_value index,
                               std::string const& noun) {
        index_vector const offset = extents_in(index, "global_offset", noun);
        auto const flat = flat_in(index, noun);
        auto const shape = values_->find_member(index, "local_shape", noun);
        for (listed_box const& box : boxes_[key])
            if (box.region.offset == offset && box.flat == flat &&
                (!shape || shape->type == pickle_value::kind::none ||
                 torch_extents(*values_, *shape, noun) == box.region.shape))
                return box;
        refuse(noun, ": storage_metadata has a shard at ", offset,
               ", but state_dict_metadata does not");
    }

    std::size_t file_of(std::string_view name, std::string const& noun) {
        auto const [match, is_new] = file_numbers_.try_emplace(std::string(name), by_file_.size());
        if (!is_new)
            return match->second;
        std::filesystem::path const path = directory_ / name;
        if (name.empty() || path.parent_path() != directory_ || name.find('\0') != name.npos)
            refuse(noun, ": '", name, "' is not the name of a file in the directory");
        if (files_->find(path) != file_store::kind::file)
            fail(errc::missing_file, path.string(), ": no such file, but ", values_->file(),
                 " says that it contains ", noun);
        result_.files.push_back({path, 0, 0});
        by_file_.push_back(std::make_shared<paddle_file>());
        shown_.emplace_back();
        by_file_.back()->name = path.string();
        by_file_.back()->bytes = files_->open(path)->facts().bytes;
        return match->second;
    }

    /// Adds a shard after the others of its file.
    void place(checkpoint_tensor& tensor, listed_box const& listed, std::size_t number,
               std::string const& noun) {
        paddle_file& file = *by_file_[number];
        checkpoint_shard& shard = tensor.shards.emplace_back();
        shard.file = static_cast<holder_t>(number);
        shard.region = listed.region;
        shard.flat = listed.flat;
        index_vector const stored = stored_shape(shard);
        index_t const elements = element_count_of(listed.region.shape, [&] { return noun + ": "; });
        if (listed.flat && listed.flat->end > elements)
            refuse(noun, ": the flat range ", *listed.flat, " exceeds its block of ",
                   counted(elements, "element"));
        auto const needed =
            static_cast<std::uint64_t>(byte_count(element_count(stored), tensor.dtype));
        if (needed > file.bytes)
            refuse(noun, ": a shard of ", tensor.dtype, " ", stored, " has ", needed,
                   " bytes, but its file ", file.name, " has ", file.bytes);
        std::uint64_t& bytes = result_.files[number].bytes;
        shard.begin = bytes;
        bytes += needed;
        shard.end = bytes;
        file.keys.push_back(tensor.key);
        shown_[number].shards.push_back({shard.begin, tensor.dtype, stored});
    }

    std::map<std::filesystem::path, shown_file> shown_files() {
        std::map<std::filesystem::path, shown_file> files;
        for (std::size_t number = 0; number < by_file_.size(); ++number) {
            shown_file& shown = shown_[number];
            shown.bytes = result_.files[number].bytes;
            shown.find = [file = by_file_[number]](file_store::file const& opened,
                                                   shown_shard const& shard, std::size_t which) {
                return file->find(opened, shard, which);
            };
            files.emplace(result_.files[number].path, std::move(shown));
        }
        return files;
    }

    std::shared_ptr<file_store const> files_;
    std::filesystem::path directory_;
    std::optional<pickle> values_;
    checkpoint_metadata result_;
    std::map<std::string, std::size_t> numbers_; ///< indices of tensors, by key
    std::map<std::string, vector<listed_box>> boxes_;
    std::uint64_t box_count_ = 0; ///< the number of boxes of all tensors
    std::map<std::string, std::size_t> file_numbers_;
    vector<std::shared_ptr<paddle_file>> by_file_;
    vector<shown_file> shown_; ///< one per file
};

RESHARD_DECL std::optional<std::filesystem::path>
find_paddle_metadata(file_store const& files, std::filesystem::path const& directory) {
    std::optional<std::filesystem::path> found_path;
    std::pair<std::size_t, std::string> highest; // longer numbers are higher
    for (std::filesystem::path const& path : files.list(directory)) {
        std::string const number = path.stem().string();
        bool const is_number =
            !number.empty() &&
            std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (path.extension() != ".metadata" || !is_number)
            continue;
        std::pair const rank(number.size(), number);
        if (!found_path || rank > highest) {
            found_path = path;
            highest = rank;
        }
    }
    return found_path;
}

RESHARD_DECL opened_checkpoint open_paddle_flex(std::shared_ptr<file_store const> files,
                                                std::filesystem::path const& metadata) {
    return paddle_reader(std::move(files), metadata).read();
}

} // namespace reshard::detail

#endif
