// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_IPP

#include <reshard/format/checkpoint.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/other_names.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/format/text_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reshard {

namespace detail {

/// The names in a directory, sorted.
inline std::vector<std::filesystem::path> listing(std::filesystem::path const& directory) {
    std::error_code ec;
    std::vector<std::filesystem::path> paths;
    for (std::filesystem::directory_iterator place(directory, ec), end; !ec && place != end;
         place.increment(ec))
        paths.push_back(place->path());
    if (ec)
        fail(errc::io, directory.string(), ": the directory cannot be read: ", ec.message());
    std::sort(paths.begin(), paths.end());
    return paths;
}

/// What was found instead of a checkpoint.
inline std::string found_instead(std::vector<std::filesystem::path> const& paths) {
    constexpr std::size_t most = 3;
    if (paths.empty())
        return "an empty directory";
    std::string text = "a directory with ";
    for (std::size_t i = 0; i < std::min(most, paths.size()); ++i)
        text += (i ? ", '" : "'") + paths[i].filename().string() + "'";
    return text +
           (paths.size() > most ? " and " + std::to_string(paths.size() - most) + " more" : "");
}

inline checkpoint_files find_in_directory(std::filesystem::path const& directory) {
    std::error_code ec;
    for (auto const& [name, kind] : {std::pair{hf_index_name, checkpoint_kind::index},
                                     std::pair{hf_single_name, checkpoint_kind::single}})
        if (std::filesystem::exists(directory / name, ec))
            return {kind, {directory / name}};
    auto const all = listing(directory);
    checkpoint_files found{checkpoint_kind::sharded, {}};
    for (std::filesystem::path const& path : all)
        if (path.extension() == ".safetensors" && std::filesystem::is_regular_file(path, ec))
            found.paths.push_back(path);
    if (found.paths.empty())
        fail(errc::unsupported, directory.string(), ": this is ", found_instead(all),
             ", not a checkpoint, which has safetensors files");
    return found;
}

/// What stands at `path`.
///
/// \throws error with errc::missing_file where nothing does, with errc::unsupported where it is no
///         checkpoint; it says what was found
inline checkpoint_files find_checkpoint(std::filesystem::path const& path) {
    std::error_code ec;
    if (!std::filesystem::exists(path, ec))
        fail(errc::missing_file, path.string(), ": there is no such file or directory");
    if (std::filesystem::is_directory(path, ec))
        return find_in_directory(path);
    if (path.extension() != ".safetensors")
        fail(errc::unsupported, path.string(),
             ": this is a file whose name does not end in .safetensors, not a checkpoint");
    return {checkpoint_kind::file, {path}};
}

/// Tensors that grow file by file.
class tensor_union {
public:
    explicit tensor_union(std::vector<checkpoint_file> const& files) : files_(files) {}

    /// Adds a tensor that must not stand in another file.
    void add_whole(holder_t file, file_shard const& shard) {
        if (auto const known = numbers_.find(shard.key); known != numbers_.end())
            refuse(shard.key, entries_[known->second].tensor.shards.front().file, file,
                   "it is in both, and no metadata says that these are shards");
        add(file, shard);
    }

    /// Adds a shard of a tensor.
    void add(holder_t file, file_shard const& shard) {
        auto const [known, is_new] = numbers_.try_emplace(shard.key, entries_.size());
        if (is_new)
            entries_.push_back({{shard.key, shard.dtype, extents_to_end(shard.region), {}}, {}});
        entry& one = entries_[known->second];
        if (!is_new)
            check_same(one, file, shard);
        if (shard.global_shape)
            state(one, file, *shard.global_shape);
        else if (!one.stated_by)
            grow(one.tensor.shape, shard.region);
        one.tensor.shards.push_back({file, shard.region, shard.flat, shard.begin, shard.end});
    }

    /// The tensors, sorted by key.
    ///
    /// \throws error with errc::corrupt_file where a shard exceeds the shape that another file
    ///         states
    std::vector<checkpoint_tensor> take() {
        std::vector<checkpoint_tensor> tensors;
        for (entry& one : entries_) {
            if (one.stated_by)
                check_inside(one);
            element_count_of(one.tensor.shape, "tensor '" + one.tensor.key + "' in " +
                                                   path(one.tensor.shards.front().file) + ": ");
            tensors.push_back(std::move(one.tensor));
        }
        std::sort(tensors.begin(), tensors.end(),
                  [](auto const& a, auto const& b) { return a.key < b.key; });
        return tensors;
    }

private:
    struct entry {
        checkpoint_tensor tensor;
        std::optional<holder_t> stated_by; ///< the file that states the global shape
    };

    std::string path(holder_t file) const { return files_[file].path.string(); }

    [[noreturn]] void refuse(std::string const& key, holder_t first, holder_t second,
                             std::string const& text) const {
        fail(errc::corrupt_file, path(second), " and ", path(first), ": tensor '", key,
             "': ", text);
    }

    static index_vector extents_to_end(box const& region) {
        index_vector shape;
        for (std::size_t axis = 0; axis < region.ndim(); ++axis)
            shape.push_back(region.end(axis));
        return shape;
    }

    static void grow(index_vector& shape, box const& region) {
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            shape[axis] = std::max(shape[axis], region.end(axis));
    }

    void check_same(entry const& one, holder_t file, file_shard const& shard) const {
        holder_t const first = one.tensor.shards.front().file;
        if (one.tensor.dtype != shard.dtype)
            refuse(shard.key, first, file,
                   words("the data type is ", code(shard.dtype), " in the former and ",
                         code(one.tensor.dtype), " in the latter"));
        if (one.tensor.shape.size() != shard.region.ndim())
            refuse(shard.key, first, file,
                   words("it has ", shard.region.ndim(), " axes in the former and ",
                         one.tensor.shape.size(), " in the latter"));
    }

    void state(entry& one, holder_t file, index_vector const& shape) const {
        if (one.stated_by && one.tensor.shape != shape)
            refuse(one.tensor.key, *one.stated_by, file,
                   words("the global shape is ", shape, " in the former and ", one.tensor.shape,
                         " in the latter"));
        if (!one.stated_by)
            one.stated_by = file;
        one.tensor.shape = shape;
    }

    void check_inside(entry const& one) const {
        for (checkpoint_shard const& shard : one.tensor.shards)
            for (std::size_t axis = 0; axis < one.tensor.shape.size(); ++axis)
                if (shard.region.end(axis) > one.tensor.shape[axis])
                    refuse(one.tensor.key, *one.stated_by, shard.file,
                           words("axis ", axis, ": a shard of the former ends at ",
                                 shard.region.end(axis), ", beyond the global extent ",
                                 one.tensor.shape[axis], " that the latter states"));
    }

    std::vector<checkpoint_file> const& files_;
    std::vector<entry> entries_;
    std::unordered_map<std::string, std::size_t> numbers_;
};

/// The digests that a file has of its tensors, by where their data begins.
class file_digests {
public:
    /// \throws error with errc::corrupt_file that names `file`
    file_digests(safetensors_header const& header, std::string const& file) {
        auto const text = header.metadata.find(std::string(chunk_digests_name));
        if (text == header.metadata.end())
            return;
        std::vector<std::uint64_t> sizes;
        for (safetensors_entry const& entry : header.tensors) {
            sizes.push_back(entry.end - entry.begin);
            begins_.push_back(header.data_offset + entry.begin);
        }
        digests_ = parse_digests(text->second, sizes, file);
    }

    /// 0: the file has none.
    std::uint64_t chunk_bytes() const { return digests_ ? digests_->chunk_bytes : 0; }

    /// Those of a tensor with data; none where the file has none.
    std::vector<std::uint64_t> of(checkpoint_shard const& shard) const {
        if (!digests_ || shard.begin == shard.end)
            return {};
        auto const behind = std::upper_bound(begins_.begin(), begins_.end(), shard.begin);
        return digests_->tensors[static_cast<std::size_t>(behind - begins_.begin()) - 1];
    }

private:
    std::vector<std::uint64_t> begins_;
    std::optional<chunk_digests> digests_;
};

/// Opens the files of one checkpoint, one after the other.
class checkpoint_reader {
public:
    checkpoint_reader(std::filesystem::path const& path, safetensors_options const& options)
        : options_(options) {
        result_.path = path;
    }
    checkpoint_reader(checkpoint_reader const&) = delete;
    checkpoint_reader& operator=(checkpoint_reader const&) = delete;

    /// The header of one more file, which gets the next number.
    safetensors_header open(std::filesystem::path const& path) {
        safetensors_header header = read_safetensors_header(path, options_);
        for (std::string const& warning : header.warnings)
            warn(path, warning);
        std::error_code ec;
        digests_.emplace_back(header, path.string());
        result_.files.push_back(
            {path, std::filesystem::file_size(path, ec), digests_.back().chunk_bytes()});
        found_.push_back(
            {path.filename().string(), result_.files.back().bytes, header.json_digest});
        auto const save = header.metadata.find(std::string(save_id_name));
        saves_.push_back(save == header.metadata.end() ? "" : save->second);
        if (saves_.back() == unknown_save_id)
            fail(errc::corrupt_file, path.string(),
                 ": the save that wrote it was not finished; load another checkpoint");
        note_aliases(aliases_, header);
        if (result_.files.size() == 1)
            result_.metadata = header.metadata;
        return header;
    }

    /// Refuses files of a directory that are not those of one finished save. Files of others have
    /// no save.
    void check_directory(std::filesystem::path const& directory) {
        std::error_code ec;
        std::filesystem::path const record = directory / save_record_name;
        if (std::filesystem::exists(record, ec)) {
            save_record const written = parse_save_record(read_text_file(record), record.string());
            check_save(written, found_, saves_, directory.string());
            result_.save = written.save;
            aliases_ = written.aliases;
            return;
        }
        for (std::size_t i = 0; i < saves_.size(); ++i)
            if (!saves_[i].empty())
                fail(errc::corrupt_file, directory.string(),
                     ": this save is not finished, or lost ", save_record_name,
                     ", which is written last: ", found_[i].name, " belongs to the save ",
                     saves_[i], "; load another checkpoint");
    }

    void add_whole(safetensors_header const& header) {
        for (safetensors_entry const& entry : header.tensors)
            tensors_.add_whole(last_file(),
                               whole_file_shard(entry, header.data_offset, last_name()));
    }

    void add_parts(safetensors_header const& header) {
        for (file_shard const& shard : sharded_contents(header, last_name()))
            tensors_.add(last_file(), shard);
    }

    /// Names the files of a directory that hold more of the same checkpoint.
    ///
    /// \par Source the Unified Checkpoint of PaddleNLP: an index, or a file, of its own for optimizer
    ///             state and for master weights
    void find_unread(std::filesystem::path const& directory) {
        std::error_code ec;
        for (std::filesystem::directory_iterator entry(directory, ec), end; !ec && entry != end;
             entry.increment(ec)) {
            std::string const name = entry->path().filename().string();
            bool const is_more =
                name.starts_with("optimizer") || name.starts_with("master_weights");
            if (is_more && (name.ends_with(".safetensors") || name.ends_with(".index.json")))
                result_.unread.push_back(name);
        }
        std::sort(result_.unread.begin(), result_.unread.end());
        if (!result_.unread.empty())
            warn(directory, "this is a Unified Checkpoint; only its model is read, not " +
                                result_.unread.front() +
                                (result_.unread.size() > 1
                                     ? " and " + std::to_string(result_.unread.size() - 1) +
                                           " more files of optimizer state and master weights"
                                     : ""));
    }

    void warn(std::filesystem::path const& path, std::string const& text) {
        result_.warnings.push_back(path.string() + ": " + text);
    }

    checkpoint_metadata take(std::string_view format) {
        result_.format = format;
        result_.metadata.erase(std::string(sharding_info_name));
        result_.metadata.erase(std::string(reshard_info_name));
        result_.metadata.erase(std::string(file_number_name));
        result_.metadata.erase(std::string(save_id_name));
        result_.metadata.erase(std::string(chunk_digests_name));
        result_.tensors = tensors_.take();
        for (checkpoint_tensor& tensor : result_.tensors)
            for (checkpoint_shard& shard : tensor.shards)
                shard.digests = digests_[shard.file].of(shard);
        add_aliases(result_, aliases_);
        return std::move(result_);
    }

    bool is_strict() const { return options_.mode == safetensors_mode::strict; }

private:
    holder_t last_file() const { return static_cast<holder_t>(result_.files.size() - 1); }
    std::string last_name() const { return result_.files.back().path.string(); }

    safetensors_options options_;
    checkpoint_metadata result_;
    tensor_union tensors_{result_.files};
    std::vector<file_digests> digests_; ///< by file, as the two below
    std::vector<recorded_file> found_;
    std::vector<std::string> saves_;
    std::map<std::string, std::string> aliases_;
};

/// The tensors that the index puts into each file.
inline std::map<std::string, std::set<std::string>> keys_by_file(hf_index const& index) {
    std::map<std::string, std::set<std::string>> files;
    for (auto const& [key, file] : index.weight_map)
        files[file].insert(key);
    return files;
}

/// Refuses an index whose file is not there.
inline void check_present(std::filesystem::path const& index, std::string const& file,
                          std::set<std::string> const& keys) {
    std::error_code ec;
    if (!std::filesystem::exists(index.parent_path() / file, ec))
        fail(errc::missing_file, index.string(), ": '", *keys.begin(), "'",
             keys.size() > 1
                 ? " and " + std::to_string(keys.size() - 1) + " more tensors are listed in "
                 : " is listed in ",
             file, ", but there is no such file");
}

/// Refuses a tensor of the index that its file does not have; what is the other way round is a
/// warning in compatible mode.
inline void check_agrees(checkpoint_reader& reader, std::filesystem::path const& index,
                         std::string const& file, std::set<std::string> keys,
                         safetensors_header const& header) {
    for (safetensors_entry const& entry : header.tensors)
        if (keys.erase(entry.name) == 0) {
            std::string const text =
                "'" + entry.name + "' is in " + file + ", but the index does not list it there";
            if (reader.is_strict())
                fail(errc::corrupt_file, index.string(), ": ", text);
            reader.warn(index, text);
        }
    if (!keys.empty())
        fail(errc::corrupt_file, index.string(), ": '", *keys.begin(), "' should be in ", file,
             ", but is not");
}

inline void check_total(checkpoint_reader& reader, std::filesystem::path const& path,
                        hf_index const& index, std::uint64_t there) {
    if (index.total_bytes && static_cast<std::uint64_t>(*index.total_bytes) != there)
        reader.warn(path, "total_size is " + std::to_string(*index.total_bytes) +
                              ", but the tensors have " + std::to_string(there) + " bytes");
}

inline checkpoint_metadata open_index(checkpoint_reader& reader,
                                      std::filesystem::path const& path) {
    hf_index const index = parse_hf_index(read_text_file(path), path.string());
    auto const files = keys_by_file(index);
    for (auto const& [file, keys] : files)
        check_present(path, file, keys);
    std::uint64_t bytes = 0;
    for (auto const& [file, keys] : files) {
        safetensors_header const header = reader.open(path.parent_path() / file);
        check_agrees(reader, path, file, keys, header);
        reader.add_whole(header);
        bytes += header.tensors.empty() ? 0 : header.tensors.back().end;
    }
    check_total(reader, path, index, bytes);
    reader.check_directory(path.parent_path());
    reader.find_unread(path.parent_path());
    return reader.take("huggingface");
}

inline checkpoint_metadata open_single(checkpoint_reader& reader, std::filesystem::path const& path,
                                       std::string_view format) {
    safetensors_header const header = reader.open(path);
    bool const has_parts = is_sharded(header);
    if (has_parts)
        reader.add_parts(header);
    else
        reader.add_whole(header);
    if (format == "huggingface") {
        reader.check_directory(path.parent_path());
        reader.find_unread(path.parent_path());
    }
    return reader.take(has_parts ? "sharded_safetensors" : format);
}

inline checkpoint_metadata open_sharded(checkpoint_reader& reader,
                                        std::vector<std::filesystem::path> const& paths) {
    file_counter counter;
    for (std::filesystem::path const& path : paths) {
        safetensors_header const header = reader.open(path);
        if (!is_sharded(header))
            fail(errc::corrupt_file, path.string(), ": the file has no ", sharding_info_name,
                 ", so where its tensors belong is not known; there are ", paths.size(),
                 " safetensors files and no ", hf_index_name);
        counter.add(header.metadata, path.string());
        reader.add_parts(header);
    }
    reader.check_directory(paths.front().parent_path());
    counter.check_complete(paths.front().parent_path().string());
    return reader.take("sharded_safetensors");
}

} // namespace detail

RESHARD_DECL checkpoint_metadata open_checkpoint(std::filesystem::path const& path,
                                                 detail::safetensors_options const& options) {
    detail::checkpoint_files const found = detail::find_checkpoint(path);
    detail::checkpoint_reader reader(path, options);
    switch (found.kind) {
    case detail::checkpoint_kind::file:
        return detail::open_single(reader, found.paths.front(), "safetensors");
    case detail::checkpoint_kind::index: return detail::open_index(reader, found.paths.front());
    case detail::checkpoint_kind::single:
        return detail::open_single(reader, found.paths.front(), "huggingface");
    default: return detail::open_sharded(reader, found.paths);
    }
}

} // namespace reshard

#endif
